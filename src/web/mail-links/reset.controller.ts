import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { GuessLimit, PASSWORD_FAULTS, PasswordRecovery, type RecoveryFault } from '../../domain/auth/index.js';
import { type BrowserRequest, type Form, type Page, PageErrorFilter, withAlert } from '../layout/index.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { RESET_DOCS } from './mail-pages.docs.js';
import { brokenLinkPage, donePage, resetPage } from './reset-page.js';

const PATH = '/account/reset';

/** Extension of the contract: the page behind the link for a new password. */
@Controller('account/reset')
@Documented(RESET_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class ResetController {
  constructor(
    private readonly forms: LinkForms,
    private readonly recovery: PasswordRecovery,
    private readonly guessLimit: GuessLimit,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    await this.forms.open(request, reply, PATH, (context) => this.page(request, context));
  }

  @Post()
  @HttpCode(200)
  async change(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    const show = (context: PageContext): Promise<Page> => this.page(request, context);
    await this.forms.receive(request, reply, show, async (form, browserRequest, context) => {
      const fault = await this.complete(request, form, browserRequest).catch(withAlert);
      if (!fault) return { content: donePage(context), cookies: [this.forms.forgetToken(PATH)] };
      if (fault === 'INVALID_TOKEN') return { content: brokenLinkPage(context), status: 422 };
      const isRefused = typeof fault !== 'string';
      const messages = isRefused ? { alert: fault.alert } : { fault: PASSWORD_FAULTS[fault] };
      const { status, headers } = isRefused ? fault : { status: 422, headers: {} };
      return { ...(await this.page(request, { ...context, ...messages })), status, headers };
    });
  }

  private async complete(
    request: FastifyRequest,
    form: Form,
    { client }: BrowserRequest,
  ): Promise<RecoveryFault | undefined> {
    await this.guessLimit.count('reset-password', client.ip);
    return this.recovery.complete({
      purpose: 'reset-password',
      token: this.forms.tokenOf(request, PATH),
      newPassword: form.get('new_password') ?? '',
      revokesAccessTokens: form.get('revoke_tokens') !== undefined,
      ...client,
    });
  }

  private async page(request: FastifyRequest, context: PageContext & { fault?: string }): Promise<Page> {
    const email = await this.recovery.addressOf(this.forms.tokenOf(request, PATH));
    if (email === undefined) return { content: brokenLinkPage(context), status: 422 };
    return { content: resetPage({ ...context, email }) };
  }
}
