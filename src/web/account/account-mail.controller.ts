import { Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EmailChange, isEmailAddress } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { NotFound } from '../../platform/http/index.js';
import { formDocs, PublicPages, withAlert } from '../layout/index.js';
import {
  AccountForms,
  DONE_ONLY,
  DONE_OR_AGAIN,
  type FormResult,
  type SubmittedForm,
} from './account-forms.js';
import { NoticesForm } from './notices-form.js';

/** The account page's forms for another email address, and for mails that can be turned off. */
@PublicPages('account', {
  changeAddress: formDocs(
    'Have a link sent to another email address',
    { ...DONE_OR_AGAIN, 404: 'the service cannot send mail' },
    'The answer is the same for an address that has an account.',
  ),
  chooseNotices: formDocs(
    'Choose which mails are sent',
    { ...DONE_ONLY, 404: 'the service sends no mail that can be turned off' },
    'Mails about the security of the account are always sent.',
  ),
})
export class AccountMailController {
  constructor(
    private readonly forms: AccountForms,
    private readonly emailChange: EmailChange,
    private readonly noticesForm: NoticesForm,
    private readonly configuration: Configuration,
  ) {}

  /** @throws NotFound where the service cannot send mail */
  @Post('email')
  async changeAddress(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (!this.configuration.hasMail) throw new NotFound('not found');
    await this.forms.act(request, reply, async (posted) => {
      const email = posted.form.text('email');
      if (!isEmailAddress(email))
        return this.forms.again(posted, { faults: { email: 'This is not an email address.' } });
      return this.forms.confirmed(posted, () => this.sendLink(posted, email));
    });
  }

  /** Queues a link for the new address. The answer is the same for an address that has an account. */
  private async sendLink(posted: SubmittedForm, email: string): Promise<FormResult> {
    const { session, browserRequest } = posted;
    try {
      await this.emailChange.request(session.userId, email, browserRequest.client.ip);
      return { done: 'email' };
    } catch (error) {
      return this.forms.again(posted, withAlert(error));
    }
  }

  /** @throws NotFound where the service sends no mail that can be turned off */
  @Post('notices')
  async chooseNotices(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.noticesForm.choose(session, form);
      return { done: 'notices' };
    });
  }
}
