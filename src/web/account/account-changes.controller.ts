import { HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Transfer } from '../../access/index.js';
import { ExportDownload } from '../../domain/accounts/export/index.js';
import { AccountDeletion } from '../../domain/accounts/index.js';
import { byUser } from '../../domain/auth/audit/index.js';
import { Users } from '../../domain/auth/index.js';
import { Subscriptions } from '../../domain/billing/index.js';
import { page } from '../../platform/api-docs/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { formDocs, NAME_FAULT, PublicPages } from '../layout/index.js';
import {
  AccountForms,
  DONE_ONLY,
  DONE_OR_AGAIN,
  type FormResult,
  type SubmittedForm,
} from './account-forms.js';
import { deletedPage } from './profile.js';

const WRONG_ADDRESS = { faults: { confirm_email: 'This is not the address of the account.' } };

/** The account page's forms for the account itself: its name, trial, export and deletion. */
@PublicPages('account', {
  rename: formDocs('Change the name', DONE_OR_AGAIN),
  startTrial: formDocs('Start the trial', {
    ...DONE_ONLY,
    409: 'the trial was started before, or subscriptions are disabled',
  }),
  export: formDocs(
    'Export the account',
    {
      200: { description: 'the archive', content: { 'application/x-tar': {} } },
      ...DONE_OR_AGAIN,
      503: 'an export of this account is under way, or too many others are',
    },
    'Needs the password unless it was given in the last ten minutes.',
  ),
  delete: formDocs(
    'Delete the account and all its data',
    { 200: page('the account is deleted'), ...DONE_OR_AGAIN },
    'Needs the address of the account, and the password unless it was given in the last ten minutes.',
  ),
})
export class AccountChangesController {
  constructor(
    private readonly forms: AccountForms,
    private readonly users: Users,
    private readonly deletion: AccountDeletion,
    private readonly subscriptions: Subscriptions,
    private readonly exportDownload: ExportDownload,
  ) {}

  @Post('name')
  async rename(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      try {
        await this.users.rename(posted.session.userId, posted.form.text('name'));
        return { done: 'name' };
      } catch (error) {
        if (!(error instanceof BadRequest)) throw error;
        return this.forms.again(posted, { faults: { name: NAME_FAULT } });
      }
    });
  }

  @Post('trial')
  async startTrial(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session }) => {
      await this.subscriptions.startTrial(session.userId);
      return { done: 'trial' };
    });
  }

  @Transfer()
  @Post('export')
  @HttpCode(200)
  @OpenWhenReadOnly('reads only; the audit log is written in any case')
  async export(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.actConfirmed(request, reply, ({ session: { userId, id: sessionId } }) =>
      Promise.resolve({ send: () => this.exportDownload.send(request, reply, { userId, sessionId }) }),
    );
  }

  /** Checks the typed address before the password, which a wrong address must not ask for. */
  @Post('delete')
  async delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { session, form } = posted;
      if (form.text('confirm_email').toLowerCase() !== session.email.toLowerCase())
        return this.forms.again(posted, WRONG_ADDRESS);
      return this.forms.confirmed(posted, () => this.deleteAccount(posted, request));
    });
  }

  /** Deletes it at once. The typed address is checked again with the account's, which may have changed meanwhile. */
  private async deleteAccount(posted: SubmittedForm, request: FastifyRequest): Promise<FormResult> {
    const { session, form } = posted;
    try {
      await this.deletion.delete(session.userId, form.text('confirm_email'), byUser(request));
      return { page: { content: deletedPage() } };
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      return this.forms.again(posted, WRONG_ADDRESS);
    }
  }
}
