import { Controller, Get, Injectable, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { EmailChange, isEmailAddress } from '../../domain/auth/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { NotFound } from '../../platform/http/index.js';
import { PageErrorFilter, redirect, withAlert } from '../layout/index.js';
import { ACCOUNT, AccountForms, type FormResult, type SubmittedForm } from './account-forms.js';
import { ACCOUNT_EMAIL_DOCS } from './account-page.controller.js';
import type { RejectedEmailChange } from './email.js';

/** The form of the account page for another email address. */
@Injectable()
export class EmailForm {
  constructor(
    private readonly forms: AccountForms,
    private readonly emailChange: EmailChange,
  ) {}

  /** Queues a link for the new address. The answer is the same for an address that has an account. */
  async change(submitted: SubmittedForm): Promise<FormResult> {
    const { session, form, browserRequest } = submitted;
    const email = form.text('email');
    if (!isEmailAddress(email))
      return this.rejected(submitted, { faults: { email: 'This is not an email address.' } });
    const unconfirmed = await this.forms.confirm(submitted);
    if (unconfirmed) {
      const { fault, ...rest } = unconfirmed;
      return this.rejected(submitted, { ...rest, faults: fault === undefined ? {} : { password: fault } });
    }
    try {
      await this.emailChange.request(session.userId, email, browserRequest.client.ip);
      return { done: 'email' };
    } catch (error) {
      return this.rejected(submitted, { ...withAlert(error), faults: {} });
    }
  }

  private async rejected(
    { form, browserRequest }: SubmittedForm,
    refusal: {
      readonly faults: RejectedEmailChange['faults'];
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly alert?: string;
    },
  ): Promise<FormResult> {
    const { faults, status = 422, headers = {}, alert } = refusal;
    const failedEmail = { email: form.text('email'), faults };
    const messages = { failedEmail, ...(alert === undefined ? {} : { alert }) };
    return { page: { ...(await this.forms.page(browserRequest, messages)), status, headers } };
  }
}

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
