import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byUser } from '../../domain/auth/audit/index.js';
import { Public } from '../../access/index.js';
import { PageErrorFilter, redirect } from '../layout/index.js';
import { Purchases } from '../../domain/billing/index.js';
import { Devices } from '../../domain/devices/index.js';
import { NotFound } from '../../platform/http/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { ACCOUNT_BELONGINGS_DOCS } from './account-page.controller.js';
import { ACCOUNT, AccountForms } from './account-forms.js';
import { billingPage } from './account-page.js';
import { isLasting, TokenForms } from './token-forms.js';

/** The account page's forms for devices, tokens and billing. */
@Controller('account')
@Documented(ACCOUNT_BELONGINGS_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountBelongingsController {
  constructor(
    private readonly forms: AccountForms,
    private readonly devices: Devices,
    private readonly tokenForms: TokenForms,
    private readonly purchases: Purchases,
  ) {}

  @Post('devices/remove')
  async removeDevice(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.devices.delete(session.userId, form.text('id'));
      return {};
    });
  }

  /** GET of the form's address, for example on a reload: redirects to /account. */
  @Get('tokens')
  async leaveTokens(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  /** Answers with the page itself, not with a redirect: a token is shown once and not stored. */
  @Post('tokens')
  async mintToken(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { session, form, browserRequest } = posted;
      const rejected = isLasting(form) ? await this.forms.confirm(posted) : undefined;
      if (rejected) {
        const { status, headers, fault, alert } = rejected;
        const failedMint = this.tokenForms.unconfirmed(form, fault);
        const messages = { failedMint, ...(alert === undefined ? {} : { alert }) };
        return { page: { ...(await this.forms.page(browserRequest, messages)), status, headers } };
      }
      const minted = await this.tokenForms.mint(
        { userId: session.userId, sessionId: session.id },
        form,
        byUser(request),
      );
      if ('faults' in minted)
        return { page: { ...(await this.forms.page(browserRequest, { failedMint: minted })), status: 422 } };
      return { page: await this.forms.page(browserRequest, { minted }) };
    });
  }

  @Post('tokens/revoke')
  async revokeToken(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.tokenForms.revoke(session.userId, form.text('id'), byUser(request));
      return {};
    });
  }

  @Get('billing')
  async leaveBilling(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
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
