import { Controller, Get, Param, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Passkeys } from '../../domain/auth/index.js';
import { asName, NotFound } from '../../platform/http/index.js';
import { PageErrorFilter, redirect } from '../layout/index.js';
import { ACCOUNT, AccountForms, type FormResult, type SubmittedForm } from './account-forms.js';
import { ACCOUNT_PASSKEYS_DOCS } from './account-page.controller.js';

const LAST_WAY = 'This passkey is the only way to sign in to your account, so it cannot be removed.';

const FORMS: readonly string[] = ['confirm', 'rename', 'remove'];

/** The account page's forms for passkeys; a script adds passkeys, over the API. */
@Controller('account/passkeys')
@Documented(ACCOUNT_PASSKEYS_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountPasskeysController {
  constructor(
    private readonly forms: AccountForms,
    private readonly passkeys: Passkeys,
  ) {}

  /** GET of a form's address, for example on a reload: redirects to /account. */
  @Get(':form')
  async leave(@Param('form') form: string, @Res() reply: FastifyReply): Promise<void> {
    if (!FORMS.includes(form)) throw new NotFound('not found');
    await redirect(reply, ACCOUNT);
  }

  /** The form after which passkeys can be added and removed for ten minutes. */
  @Post('confirm')
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, (posted) => this.confirmed(posted, () => Promise.resolve({})));
  }

  @Post('rename')
  async rename(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form, browserRequest }) => {
      const name = form.text('name');
      if (asName(name) === undefined) {
        const page = await this.forms.page(browserRequest, { alert: 'Enter a name of 1 to 255 characters.' });
        return { page: { ...page, status: 422 } };
      }
      await this.passkeys.rename(session.userId, form.text('id'), name);
      return {};
    });
  }

  @Post('remove')
  async remove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, (posted) =>
      this.confirmed(posted, async () => {
        const { session, form, browserRequest } = posted;
        const actor = { userId: session.userId, ...browserRequest.client };
        if (await this.passkeys.remove(actor, form.text('id'))) return {};
        return { page: { ...(await this.forms.page(browserRequest, { alert: LAST_WAY })), status: 422 } };
      }),
    );
  }

  private async confirmed(posted: SubmittedForm, work: () => Promise<FormResult>): Promise<FormResult> {
    const rejected = await this.forms.confirm(posted);
    if (!rejected) return work();
    const { status, headers, fault, alert } = rejected;
    const messages = { failedConfirmation: { fault }, ...(alert === undefined ? {} : { alert }) };
    return { page: { ...(await this.forms.page(posted.browserRequest, messages)), status, headers } };
  }
}
