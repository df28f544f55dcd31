import { Controller, Get, Param, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { BrowserFactors } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { BadRequest, NotFound } from '../../platform/http/index.js';
import { type Page, PageErrorFilter, redirect, withAlert } from '../layout/index.js';
import { ACCOUNT, AccountForms, type FormResult, type SubmittedForm } from './account-forms.js';
import { ACCOUNT_FACTORS_DOCS } from './account-page.controller.js';
import { backupCodesPage, type FactorChange, factorSetUpPage } from './factors.js';

const WRONG_CODE =
  'This code is wrong. Check that the clock of your phone is right, and enter the next code.';
/** The page shows the posted address again, so only plain `otpauth:` addresses are accepted. */
const TOTP_URI = /^otpauth:\/\/totp\/[!-~]{1,600}$/;

const FORMS: readonly string[] = ['set-up', 'confirm', 'codes', 'remove'];

/** The account page's forms for the second factor. */
@Controller('account/factor')
@Documented(ACCOUNT_FACTORS_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountFactorsController {
  constructor(
    private readonly forms: AccountForms,
    private readonly browserFactors: BrowserFactors,
    private readonly configuration: Configuration,
  ) {}

  /** GET of a form's address, for example on a reload: redirects to /account. */
  @Get(':form')
  async leave(@Param('form') form: string, @Res() reply: FastifyReply): Promise<void> {
    if (!FORMS.includes(form)) throw new NotFound('not found');
    await redirect(reply, ACCOUNT);
  }

  @Post('set-up')
  @HttpCode(200)
  async setUp(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.change(request, reply, 'set-up', async (posted) => {
      const uri = await this.browserFactors.begin(posted.browserRequest);
      return uri === null ? {} : { page: this.setUpPage(posted, { uri }) };
    });
  }

  /** Answers with the page itself, not with a redirect: the backup codes are shown once, and stored only as hashes. */
  @Post('confirm')
  @HttpCode(200)
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const { form, browserRequest } = posted;
      const uri = form.text('uri');
      if (!TOTP_URI.test(uri) || !URL.canParse(uri)) throw new BadRequest('the form holds no key');
      try {
        const codes = await this.browserFactors.finish(browserRequest, form.text('code'));
        if (codes) return { page: this.codesPage(posted, codes) };
        return { page: { ...this.setUpPage(posted, { uri, fault: WRONG_CODE }), status: 422 } };
      } catch (error) {
        const { status, headers, alert } = withAlert(error);
        return { page: { ...this.setUpPage(posted, { uri, alert }), status, headers } };
      }
    });
  }

  @Post('codes')
  @HttpCode(200)
  async renewCodes(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.change(request, reply, 'codes', async (posted) => {
      const codes = await this.browserFactors.renewCodes(posted.browserRequest);
      return codes ? { page: this.codesPage(posted, codes) } : {};
    });
  }

  @Post('remove')
  async remove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.change(request, reply, 'remove', async ({ browserRequest }) => {
      await this.browserFactors.disable(browserRequest);
      return { done: 'factor-off' };
    });
  }

  /** Runs a change that needs a recent sign-in, or shows the fault in the password. */
  private async change(
    request: FastifyRequest,
    reply: FastifyReply,
    change: FactorChange,
    work: (posted: SubmittedForm) => Promise<FormResult>,
  ): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const rejected = await this.forms.confirm(posted);
      if (!rejected) return work(posted);
      const { status, headers, fault, alert } = rejected;
      const messages = { failedFactor: { change, fault }, ...(alert === undefined ? {} : { alert }) };
      return { page: { ...(await this.forms.page(posted.browserRequest, messages)), status, headers } };
    });
  }

  private setUpPage(
    { browserRequest: { csrfToken, cookies } }: SubmittedForm,
    shown: { uri: string; fault?: string; alert?: string },
  ): Page {
    const { publicHost: host } = this.configuration;
    const content = factorSetUpPage({ host, csrfToken: csrfToken.value, ...shown });
    return { content, formTargets: ["'self'"], cookies };
  }

  private codesPage({ browserRequest: { cookies } }: SubmittedForm, codes: readonly string[]): Page {
    return { content: backupCodesPage({ host: this.configuration.publicHost, codes }), cookies };
  }
}
