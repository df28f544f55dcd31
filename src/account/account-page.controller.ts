import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../access/index.js';
import { Attempts, PageErrorFilter, redirect } from '../pages/index.js';
import { BrowserSessions, UserSessions } from '../auth/index.js';
import { OpenWhenReadOnly } from '../platform/kill-switch/index.js';
import { Documented } from '../api-docs/index.js';
import { ACCOUNT_PAGE_DOCS } from './account-page.docs.js';
import { ACCOUNT, AccountDesk } from './account-desk.js';
import { PasswordDesk } from './password-desk.js';

/** Extension of the contract: people see their account, and sign in and out, in a browser. */
@Controller('account')
@Documented(ACCOUNT_PAGE_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountPageController {
  constructor(
    private readonly desk: AccountDesk,
    private readonly attempts: Attempts,
    private readonly browserSessions: BrowserSessions,
    private readonly userSessions: UserSessions,
    private readonly passwordDesk: PasswordDesk,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.desk.show(request, reply);
  }

  @Post()
  @OpenWhenReadOnly('signs in; signing up is refused where it would write')
  async signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.desk.receive(request, reply, async (visit, form) => {
      const entered = await this.attempts.make(form, visit);
      if (!('faults' in entered)) return { cookies: entered.cookies };
      const { status, headers } = entered;
      return { page: { ...(await this.desk.page(visit, { failed: entered })), status, headers } };
    });
  }

  /** GET of the form's address, as on a reload: back to /account. */
  @Get('password')
  async leavePassword(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Post('password')
  async changePassword(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.desk.act(request, reply, async ({ form, visit }) => {
      const changed = await this.passwordDesk.change(form, visit);
      if (!('faults' in changed)) return { cookies: changed.cookies, done: 'password' };
      const { status, headers } = changed;
      return { page: { ...(await this.desk.page(visit, { failedChange: changed })), status, headers } };
    });
  }

  @Post('sign-out')
  @OpenWhenReadOnly('signs out')
  async signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.desk.act(request, reply, async ({ visit }) => ({
      cookies: await this.browserSessions.signOut(visit.cookie, visit.client),
    }));
  }

  @Post('sessions/end')
  @OpenWhenReadOnly('signs out')
  async endSession(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.desk.act(request, reply, async ({ session, form }) => {
      await this.userSessions.end(session.userId, form.text('id'));
      return {};
    });
  }

  @Post('sessions/end-others')
  @OpenWhenReadOnly('signs out')
  async endOtherSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.desk.act(request, reply, async ({ session }) => {
      await this.userSessions.endOthers(session.userId, session.id);
      return {};
    });
  }
}
