import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { PageErrorFilter, redirect } from '../layout/index.js';
import { NotFound } from '../../platform/http/index.js';
import { ACCOUNT, AccountForms } from './account-forms.js';
import { ACCOUNT_EMAIL_DOCS } from './account-page.docs.js';
import { EmailForm } from './email-form.js';

/** The account page's form for another email address. */
@Controller('account/email')
@Documented(ACCOUNT_EMAIL_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountEmailController {
  constructor(
    private readonly forms: AccountForms,
    private readonly emailForm: EmailForm,
    private readonly configuration: Configuration,
  ) {}

  /** GET of the form's address, for example on a reload: redirects to /account. */
  @Get()
  async leave(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  /** @throws NotFound where the service cannot send mail */
  @Post()
  async change(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (!this.configuration.hasMail) throw new NotFound('not found');
    await this.forms.act(request, reply, (submitted) => this.emailForm.change(submitted));
  }
}
