import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { isMailable, PasswordRecovery } from '../../domain/auth/index.js';
import { type Page, PageErrorFilter, withAlert } from '../layout/index.js';
import { forgotPage, sentPage } from './forgot-page.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { FORGOT_DOCS } from './mail-pages.docs.js';

/** Extension of the contract: a person who has forgotten the password asks for a link. */
@Controller('account/forgot')
@Documented(FORGOT_DOCS)
@Public('the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class ForgotController {
  constructor(
    private readonly forms: LinkForms,
    private readonly recovery: PasswordRecovery,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    const { browserRequest, context } = await this.forms.read(request);
    await this.forms.send(reply, browserRequest, { content: forgotPage(context) });
  }

  /** The same answer for every address, with or without an account. */
  @Post()
  @HttpCode(200)
  async request(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    const show = (context: PageContext): Page => ({ content: forgotPage(context) });
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const email = form.text('email');
      const failed = (fault: string): Page => ({
        content: forgotPage({ ...context, email, fault }),
        status: 422,
      });
      if (!isMailable(email)) return failed('This is not an email address.');
      try {
        await this.recovery.request(email, client.ip);
        return { content: sentPage(context) };
      } catch (error) {
        const { status, headers, alert } = withAlert(error);
        return { content: forgotPage({ ...context, email, alert }), status, headers };
      }
    });
  }
}
