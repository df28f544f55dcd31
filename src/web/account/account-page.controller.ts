import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byUser } from '../../domain/auth/audit/index.js';
import { Public } from '../../access/index.js';
import { SignInForms, PageErrorFilter, redirect } from '../layout/index.js';
import { BrowserSessions, UserSessions } from '../../domain/auth/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { ACCOUNT_PAGE_DOCS } from './account-page.docs.js';
import { ACCOUNT, AccountForms } from './account-forms.js';
import { PasswordForm } from './password-form.js';

/** Extension of the contract: users see their account, and sign in and out, in a browser. */
@Controller('account')
@Documented(ACCOUNT_PAGE_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountPageController {
  constructor(
    private readonly forms: AccountForms,
    private readonly signInForms: SignInForms,
    private readonly browserSessions: BrowserSessions,
    private readonly userSessions: UserSessions,
    private readonly passwordForm: PasswordForm,
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

  /** GET of the form's address, for example on a reload: redirects to /account. */
  @Get('password')
  async leavePassword(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Post('password')
  async changePassword(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ form, browserRequest }) => {
      const changed = await this.passwordForm.change(form, browserRequest);
      if (!('faults' in changed)) return { cookies: changed.cookies, done: 'password' };
      const { status, headers } = changed;
      return {
        page: { ...(await this.forms.page(browserRequest, { failedChange: changed })), status, headers },
      };
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
