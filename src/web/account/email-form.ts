import { Injectable } from '@nestjs/common';
import { EmailChange, isEmailAddress } from '../../domain/auth/index.js';
import { withAlert } from '../layout/index.js';
import type { RejectedEmailChange } from './email-section.js';
import { type FormResult, AccountForms, type SubmittedForm } from './account-forms.js';

/** The form of the account page for another email address. */
@Injectable()
export class EmailForm {
  constructor(
    private readonly forms: AccountForms,
    private readonly emailChange: EmailChange,
  ) {}

  /** Has a link sent to the new address. The answer is the same for an address that has an account. */
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
