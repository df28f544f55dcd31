import { Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byUser } from '../../domain/auth/audit/index.js';
import { Purchases } from '../../domain/billing/index.js';
import { Devices } from '../../domain/devices/index.js';
import { Workspaces } from '../../domain/workspaces/index.js';
import { page } from '../../platform/api-docs/index.js';
import { BadRequest, NotFound } from '../../platform/http/index.js';
import { formDocs, NAME_FAULT, PublicPages } from '../layout/index.js';
import {
  AccountForms,
  DONE_ONLY,
  DONE_OR_AGAIN,
  type FormResult,
  type SubmittedForm,
} from './account-forms.js';
import { billingPage } from './account-page.js';
import { isLasting, TokenForms } from './token-forms.js';

const OF_WORKSPACE = { ...DONE_OR_AGAIN, 404: 'workspace not found' };

/** The account page's forms for workspaces, devices, tokens and billing. */
@PublicPages('account', {
  renameWorkspace: formDocs('Rename a workspace', OF_WORKSPACE),
  deleteWorkspace: formDocs(
    'Delete a workspace',
    OF_WORKSPACE,
    'Needs the name of the workspace, and the password unless it was given in the last ten minutes.',
  ),
  removeDevice: formDocs('Delete a device', { ...DONE_ONLY, 404: 'device not found' }),
  mintToken: formDocs('Create a personal access token', {
    200: page('the account page with the token, which is shown only once'),
    ...OF_WORKSPACE,
  }),
  revokeToken: formDocs('Revoke a personal access token', { ...DONE_ONLY, 404: 'token not found' }),
  openBilling: formDocs('Open the billing portal or the checkout page', {
    200: page('a page with the link'),
    ...DONE_ONLY,
    409: 'subscriptions are disabled, or the account already has one',
  }),
})
export class AccountBelongingsController {
  constructor(
    private readonly forms: AccountForms,
    private readonly workspaces: Workspaces,
    private readonly devices: Devices,
    private readonly tokenForms: TokenForms,
    private readonly purchases: Purchases,
  ) {}

  @Post('workspaces/rename')
  async renameWorkspace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const id = await this.workspaceOf(posted);
      try {
        await this.workspaces.rename(id, posted.form.text('name'));
        return { done: 'workspace-name' };
      } catch (error) {
        if (!(error instanceof BadRequest)) throw error;
        return this.forms.again(posted, { faults: { name: NAME_FAULT } });
      }
    });
  }

  @Post('workspaces/delete')
  async deleteWorkspace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { name } = await this.workspaces.get(await this.workspaceOf(posted));
      if (posted.form.text('confirm_name') !== name)
        return this.forms.again(posted, {
          faults: { confirm_name: 'This is not the name of the workspace.' },
        });
      return this.forms.confirmed(posted, async () => {
        await this.workspaces.delete(await this.workspaceOf(posted), byUser(request));
        return { done: 'workspace' };
      });
    });
  }

  /** @throws NotFound unless it is a workspace of the user */
  private workspaceOf({ session: { userId }, form }: SubmittedForm): Promise<string> {
    return this.workspaces.requireOwned(form.text('id'), { userId, workspaceId: null });
  }

  @Post('devices/remove')
  async removeDevice(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.devices.delete(session.userId, form.text('id'));
      return {};
    });
  }

  @Post('tokens')
  async mintToken(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const mint = (): Promise<FormResult> => this.mint(posted, request);
      return isLasting(posted.form) ? this.forms.confirmed(posted, mint) : mint();
    });
  }

  /** Answers with the page itself, not with a redirect: a token is shown once and not stored. */
  private async mint(posted: SubmittedForm, request: FastifyRequest): Promise<FormResult> {
    const { session, form, browserRequest } = posted;
    const owner = { userId: session.userId, sessionId: session.id };
    const minted = await this.tokenForms.mint(owner, form, byUser(request));
    if ('faults' in minted) return this.forms.again(posted, minted);
    return { page: await this.forms.page(browserRequest, { minted }) };
  }

  @Post('tokens/revoke')
  async revokeToken(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.tokenForms.revoke(session.userId, form.text('id'), byUser(request));
      return {};
    });
  }

  /**
   * Answers with a link, not a redirect: the policy of the form's page would have to list the address, which is known only now.
   */
  @Post('billing')
  async openBilling(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session }) => {
      return { page: { content: billingPage(await this.billingUrl(session.userId), this.forms.host) } };
    });
  }

  /** The portal for users who have bought something, else the checkout. */
  private async billingUrl(userId: string): Promise<string> {
    try {
      return await this.purchases.portalUrl(userId);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      return this.purchases.checkoutUrl(userId);
    }
  }
}
