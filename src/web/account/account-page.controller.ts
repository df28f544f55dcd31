import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byUser } from '../../domain/auth/audit/index.js';
import { BrowserSessions, PASSWORD_FAULTS, type Refusal, UserSessions } from '../../domain/auth/index.js';
import { page } from '../../platform/api-docs/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import {
  type Faults,
  formDocs,
  PublicPages,
  redirect,
  SignInForms,
  SUSPENDED,
  withAlert,
} from '../layout/index.js';
import { ACCOUNT, AccountForms, DONE_ONLY, DONE_OR_AGAIN, LEAVE } from './account-forms.js';

/** The addresses of forms below /account, which a reload of a page that answers one opens with GET. */
const FORMS = [
  'password',
  'email',
  'notices',
  'tokens',
  'billing',
  'single-sign-on/disconnect',
  'name',
  'workspaces/rename',
  'workspaces/delete',
  'export',
  'delete',
];

const FAULTS: Readonly<Partial<Record<Refusal, Faults>>> = {
  'wrong-credentials': { current_password: 'This is not your current password.' },
  'no-password': { current_password: 'This account has no password.' },
  'password-too-short': { new_password: PASSWORD_FAULTS.PASSWORD_TOO_SHORT },
  'password-too-long': { new_password: PASSWORD_FAULTS.PASSWORD_TOO_LONG },
  'password-too-common': { new_password: PASSWORD_FAULTS.PASSWORD_TOO_COMMON },
};
const UNUSABLE = { new_password: 'This password cannot be used.' };

/** Extension of the contract: users see their account, and sign in and out, in a browser. */
@PublicPages('account', {
  show: {
    summary: 'Show the account page or the sign-in form',
    answers: { 200: page('the page'), 403: SUSPENDED },
  },
  leave: LEAVE,
  signIn: formDocs('Sign in or sign up', {
    200: page('the page asks for a code of the second factor'),
    ...DONE_OR_AGAIN,
  }),
  changePassword: formDocs('Change the password', DONE_OR_AGAIN),
  signOut: formDocs('Sign out', DONE_ONLY),
  endSession: formDocs('Revoke a session', { ...DONE_ONLY, 404: 'session not found' }),
  endOtherSessions: formDocs('Revoke all other sessions', DONE_ONLY),
})
export class AccountPageController {
  constructor(
    private readonly forms: AccountForms,
    private readonly signInForms: SignInForms,
    private readonly browserSessions: BrowserSessions,
    private readonly userSessions: UserSessions,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.show(request, reply);
  }

  @Post()
  @OpenWhenReadOnly('signs in; sign-up is refused at its write')
  async signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.receive(request, reply, async (browserRequest, form) => {
      const entered = await this.signInForms.submit(form, browserRequest);
      if (!('faults' in entered)) return { cookies: entered.cookies };
      const { status, headers, cookies = [] } = entered;
      const page = await this.forms.page(browserRequest, { failed: entered });
      return { page: { ...page, status, headers, cookies: [...browserRequest.cookies, ...cookies] } };
    });
  }

  @Get(FORMS)
  async leave(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Post('password')
  async changePassword(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { form, browserRequest } = posted;
      const change = {
        currentPassword: form.get('current_password') ?? '',
        newPassword: form.get('new_password') ?? '',
        revokeAccessTokens: form.get('revoke_tokens') !== undefined,
      };
      try {
        const { cookie, client } = browserRequest;
        const changed = await this.browserSessions.changePassword(cookie, change, client);
        if (!('refusal' in changed)) return { cookies: changed.cookies, done: 'password' };
        return await this.forms.again(posted, { faults: FAULTS[changed.refusal] ?? UNUSABLE });
      } catch (error) {
        const { alert: alertInForm, status, headers } = withAlert(error);
        return this.forms.again(posted, { alertInForm, status, headers });
      }
    });
  }

  @Post('sign-out')
  @OpenWhenReadOnly('signs out')
  async signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ browserRequest }) => ({
      cookies: await this.browserSessions.signOut(browserRequest.cookie, browserRequest.client),
    }));
  }

  @Post('sessions/end')
  @OpenWhenReadOnly('signs out')
  async endSession(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.userSessions.end(session.userId, form.text('id'), byUser(request));
      return {};
    });
  }

  @Post('sessions/end-others')
  @OpenWhenReadOnly('signs out')
  async endOtherSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session }) => {
      await this.userSessions.endAllBut(session.userId, session.id, byUser(request));
      return {};
    });
  }
}
