import { Get, Param, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserFactors } from '../../domain/auth/index.js';
import { page } from '../../platform/api-docs/index.js';
import { BadRequest, NotFound } from '../../platform/http/index.js';
import { formDocs, type Page, PublicPages, redirect, withAlert } from '../layout/index.js';
import { ACCOUNT, AccountForms, DONE_OR_AGAIN, LEAVE_ANY, type SubmittedForm } from './account-forms.js';
import { backupCodesPage, factorSetUpPage } from './factors.js';

const WRONG_CODE =
  'This code is wrong. Check that the clock of your phone is right, and enter the next code.';
/** The page shows the posted address again, so only plain `otpauth:` addresses are accepted. */
const TOTP_URI = /^otpauth:\/\/totp\/[!-~]{1,600}$/;

const FORMS: readonly string[] = ['set-up', 'confirm', 'codes', 'remove'];

const CODES = {
  200: page('a page with the backup codes, which are shown only once'),
  ...DONE_OR_AGAIN,
};

/** The account page's forms for the second factor. */
@PublicPages('account/factor', {
  leave: LEAVE_ANY,
  setUp: formDocs('Begin to set up the second factor', {
    200: page('a page with the new key'),
    ...DONE_OR_AGAIN,
  }),
  confirm: formDocs('Turn the second factor on', CODES),
  renewCodes: formDocs('Replace the backup codes', CODES),
  remove: formDocs('Turn the second factor off', DONE_OR_AGAIN),
})
export class AccountFactorsController {
  constructor(
    private readonly forms: AccountForms,
    private readonly browserFactors: BrowserFactors,
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
    await this.forms.actConfirmed(request, reply, async (posted) => {
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
    await this.forms.actConfirmed(request, reply, async (posted) => {
      const codes = await this.browserFactors.renewCodes(posted.browserRequest);
      return codes ? { page: this.codesPage(posted, codes) } : {};
    });
  }

  @Post('remove')
  async remove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.actConfirmed(request, reply, async (posted) => {
      await this.browserFactors.disable(posted.browserRequest);
      return { done: 'factor-off' };
    });
  }

  private setUpPage(
    { browserRequest: { csrfToken, cookies } }: SubmittedForm,
    shown: { uri: string; fault?: string; alert?: string },
  ): Page {
    const content = factorSetUpPage({ host: this.forms.host, csrfToken: csrfToken.value, ...shown });
    return { content, formTargets: ["'self'"], cookies };
  }

  private codesPage({ browserRequest: { cookies } }: SubmittedForm, codes: readonly string[]): Page {
    return { content: backupCodesPage({ host: this.forms.host, codes }), cookies };
  }
}
