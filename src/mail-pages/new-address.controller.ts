import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../access/index.js';
import { Documented } from '../api-docs/index.js';
import { EmailChange } from '../auth/index.js';
import { type Page, PageErrorFilter } from '../pages/index.js';
import { confirmedPage, confirmPage, deadLinkPage } from './confirm-page.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { NEW_ADDRESS_DOCS } from './mail-pages.docs.js';

const PATH = '/account/new-address';

/** Extension of the contract: the page behind the link that confirms another address of an account. */
@Controller('account/new-address')
@Documented(NEW_ADDRESS_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class NewAddressController {
  constructor(
    private readonly forms: LinkForms,
    private readonly emailChange: EmailChange,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (await this.forms.takeToken(request, reply, PATH)) return;
    const { browserRequest, context } = await this.forms.read(request);
    await this.forms.send(reply, browserRequest, await this.page(request, context));
  }

  @Post()
  @HttpCode(200)
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const show = (context: PageContext): Promise<Page> => this.page(request, context);
    await this.forms.receive(request, reply, show, async (_, { client }, context) => {
      const token = this.forms.tokenOf(request, PATH);
      if (!(await this.emailChange.confirm(token, client)))
        return { content: deadLinkPage(context), status: 422 };
      return { content: confirmedPage(context), cookies: [this.forms.forgetToken(PATH)] };
    });
  }

  private async page(request: FastifyRequest, context: PageContext): Promise<Page> {
    const email = await this.emailChange.addressOf(this.forms.tokenOf(request, PATH));
    if (email === undefined) return { content: deadLinkPage(context), status: 422 };
    return { content: confirmPage({ ...context, email, action: PATH }) };
  }
}
