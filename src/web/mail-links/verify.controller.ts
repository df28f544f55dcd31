import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { EmailVerification, isMailable, PasswordRecovery } from '../../domain/auth/index.js';
import { type Page, PageErrorFilter } from '../layout/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { deadLinkPage, sentAgainPage } from './confirm-page.js';
import { ConfirmForms, type ConfirmLink } from './confirm-forms.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { VERIFY_DOCS } from './mail-pages.docs.js';

/** Extension of the contract: the page behind the link that confirms the address of a new account. */
@Controller('account/verify')
@Documented(VERIFY_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class VerifyController {
  private readonly link: ConfirmLink = {
    path: '/account/verify',
    find: (token) => this.verification.find(token),
    trustsSession: false,
    confirm: (token, claim) => this.verification.confirm(token, claim),
    startAnew: (token, newPassword, { ip, userAgent }) =>
      this.recovery.complete({
        purpose: 'verify-email',
        token,
        newPassword,
        revokesAccessTokens: true,
        ip,
        userAgent,
      }),
  };

  constructor(
    private readonly forms: LinkForms,
    private readonly confirmForms: ConfirmForms,
    private readonly verification: EmailVerification,
    private readonly recovery: PasswordRecovery,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.confirmForms.open(request, reply, this.link);
  }

  @Post()
  @HttpCode(200)
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.confirmForms.confirm(request, reply, this.link);
  }

  /** The same answer for every address. */
  @Post('send')
  @HttpCode(200)
  async send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const show = (context: PageContext): Page => ({ content: deadLinkPage(context) });
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const email = form.text('email');
      if (!isMailable(email)) throw new BadRequest('this is not an email address');
      await this.verification.request(email, client.ip);
      return { content: sentAgainPage(context) };
    });
  }
}
