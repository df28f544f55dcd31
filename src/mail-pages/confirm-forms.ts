import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../auth/index.js';
import type { Page } from '../pages/index.js';
import { confirmedPage, confirmPage, deadLinkPage } from './confirm-page.js';
import { LinkForms, type PageContext } from './link-forms.js';

/** A kind of link that confirms an address. */
export interface ConfirmLink {
  /** The path of its page. */
  readonly path: string;
  /** The address that the token confirms; undefined when the link does not work. */
  readonly addressOf: (token: string) => Promise<string | undefined>;
  /** Uses the link. Returns false when it does not work. */
  readonly confirm: (token: string, client: Client) => Promise<boolean>;
}

/** The pages behind links that confirm an address. */
@Injectable()
export class ConfirmForms {
  constructor(private readonly forms: LinkForms) {}

  async open(request: FastifyRequest, reply: FastifyReply, link: ConfirmLink): Promise<void> {
    await this.forms.open(request, reply, link.path, (context) => this.page(request, context, link));
  }

  async confirm(request: FastifyRequest, reply: FastifyReply, link: ConfirmLink): Promise<void> {
    const show = (context: PageContext): Promise<Page> => this.page(request, context, link);
    await this.forms.receive(request, reply, show, async (_, { client }, context) => {
      const token = this.forms.tokenOf(request, link.path);
      if (!(await link.confirm(token, client))) return { content: deadLinkPage(context), status: 422 };
      return { content: confirmedPage(context), cookies: [this.forms.forgetToken(link.path)] };
    });
  }

  private async page(request: FastifyRequest, context: PageContext, link: ConfirmLink): Promise<Page> {
    const email = await link.addressOf(this.forms.tokenOf(request, link.path));
    if (email === undefined) return { content: deadLinkPage(context), status: 422 };
    return { content: confirmPage({ ...context, email, action: link.path }) };
  }
}
