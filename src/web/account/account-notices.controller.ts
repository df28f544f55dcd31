import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { PageErrorFilter, redirect } from '../layout/index.js';
import { ACCOUNT, AccountForms } from './account-forms.js';
import { ACCOUNT_NOTICES_DOCS } from './account-page.controller.js';
import { NoticesForm } from './notices-form.js';

/** The account page's form for mails that can be turned off. */
@Controller('account/notices')
@Documented(ACCOUNT_NOTICES_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountNoticesController {
  constructor(
    private readonly forms: AccountForms,
    private readonly noticesForm: NoticesForm,
  ) {}

  /** GET of the form's address, for example on a reload: redirects to /account. */
  @Get()
  async leave(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  /** @throws NotFound where the service sends no mail that can be turned off */
  @Post()
  async choose(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.noticesForm.choose(session, form);
      return { done: 'notices' };
    });
  }
}
