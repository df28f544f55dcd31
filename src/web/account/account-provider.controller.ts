import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { byUser } from '../../domain/auth/audit/index.js';
import { ProviderLinks } from '../../domain/auth/index.js';
import { PageErrorFilter, redirect } from '../layout/index.js';
import { ACCOUNT, AccountForms } from './account-forms.js';
import { ACCOUNT_PROVIDER_DOCS } from './account-page.controller.js';

/** The account page's form that ends the link to the provider of single sign-on. */
@Controller('account/single-sign-on/disconnect')
@Documented(ACCOUNT_PROVIDER_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountProviderController {
  constructor(
    private readonly forms: AccountForms,
    private readonly links: ProviderLinks,
  ) {}

  /** GET of the form's address, for example on a reload: redirects to /account. */
  @Get()
  async leave(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Post()
  async disconnect(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const rejected = await this.forms.confirm(posted);
      if (rejected) {
        const { fault, alert } = rejected;
        const messages = { failedUnlinking: { fault }, ...(alert === undefined ? {} : { alert }) };
        return this.forms.again(posted, messages, rejected);
      }
      const { userId, id } = posted.session;
      await this.links.unlink(userId, byUser(request), id);
      return { done: 'unlinked' };
    });
  }
}
