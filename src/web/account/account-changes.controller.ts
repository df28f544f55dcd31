import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public, Transfer } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { byUser } from '../../domain/auth/audit/index.js';
import { Subscriptions } from '../../domain/billing/index.js';
import { ExportDownload } from '../../domain/accounts/export/index.js';
import { PageErrorFilter, redirect } from '../layout/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { ACCOUNT_CHANGES_DOCS } from './account-page.controller.js';
import { ACCOUNT, AccountForms, type FormResult, type SubmittedForm } from './account-forms.js';
import type { FlashMessages } from './action-form.js';
import { deletedPage } from './profile.js';
import { ProfileForms } from './profile-forms.js';
import { WorkspaceForms } from './workspace-forms.js';

/** The account page's forms for the account itself, its workspaces, trial, export and deletion. */
@Controller('account')
@Documented(ACCOUNT_CHANGES_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountChangesController {
  constructor(
    private readonly forms: AccountForms,
    private readonly profileForms: ProfileForms,
    private readonly workspaceForms: WorkspaceForms,
    private readonly subscriptions: Subscriptions,
    private readonly exportDownload: ExportDownload,
  ) {}

  /** GET of a form's address, for example on a reload: redirects to /account. */
  @Get('name')
  async leaveName(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Get('workspaces/rename')
  async leaveWorkspaceName(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Get('workspaces/delete')
  async leaveWorkspaces(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Get('export')
  async leaveExport(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Get('delete')
  async leaveDelete(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Post('name')
  async rename(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const failedRename = await this.profileForms.rename(posted.session, posted.form);
      return failedRename ? this.forms.again(posted, { failedRename }) : { done: 'name' };
    });
  }

  @Post('trial')
  async startTrial(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session }) => {
      await this.subscriptions.startTrial(session.userId);
      return { done: 'trial' };
    });
  }

  @Post('workspaces/rename')
  async renameWorkspace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const failed = await this.workspaceForms.rename(posted.session.userId, posted.form);
      return failed ? this.forms.again(posted, { failedWorkspaceName: failed }) : { done: 'workspace-name' };
    });
  }

  @Post('workspaces/delete')
  async deleteWorkspace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { session, form } = posted;
      const wrong = await this.workspaceForms.checkName(session.userId, form);
      if (wrong) return this.forms.again(posted, { failedWorkspaceDeletion: wrong });
      const again = await this.unconfirmed(posted, (password) => ({
        failedWorkspaceDeletion: {
          id: form.text('id'),
          value: form.text('confirm_name'),
          faults: { password },
        },
      }));
      if (again) return again;
      await this.workspaceForms.delete(session.userId, form, byUser(request));
      return { done: 'workspace' };
    });
  }

  @Transfer()
  @Post('export')
  @HttpCode(200)
  @OpenWhenReadOnly('reads only; the audit log is written in any case')
  async export(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const again = await this.unconfirmed(posted, (fault) => ({ failedExport: { fault } }));
      const { userId, id: sessionId } = posted.session;
      return again ?? { send: () => this.exportDownload.send(request, reply, { userId, sessionId }) };
    });
  }

  @Post('delete')
  async delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { session, form } = posted;
      const wrong = this.profileForms.checkAddress(session, form);
      if (wrong) return this.forms.again(posted, { failedDeletion: wrong });
      const again = await this.unconfirmed(posted, (password) => ({
        failedDeletion: { value: form.text('confirm_email'), faults: { password } },
      }));
      if (again) return again;
      const failedDeletion = await this.profileForms.delete(session, form, byUser(request));
      return failedDeletion
        ? this.forms.again(posted, { failedDeletion })
        : { page: { content: deletedPage() } };
    });
  }

  /** Returns the page again if the form lacks a password that it needs. */
  private async unconfirmed(
    posted: SubmittedForm,
    messages: (fault: string | undefined) => FlashMessages,
  ): Promise<FormResult | undefined> {
    const rejected = await this.forms.confirm(posted);
    if (!rejected) return undefined;
    const { fault, alert } = rejected;
    return this.forms.again(
      posted,
      { ...messages(fault), ...(alert === undefined ? {} : { alert }) },
      rejected,
    );
  }
}
