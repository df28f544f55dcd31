import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../access/index.js';
import { Documented } from '../api-docs/index.js';
import { EmailVerification, isMailable } from '../auth/index.js';
import { type Page, PageErrorFilter } from '../pages/index.js';
import { BadRequest } from '../platform/http/index.js';
import { confirmedPage, confirmPage, deadLinkPage, sentAgainPage } from './confirm-page.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { VERIFY_DOCS } from './mail-pages.docs.js';

const PATH = '/account/verify';

/** Extension of the contract: the page behind the link that confirms the address of a new account. */
@Controller('account/verify')
@Documented(VERIFY_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class VerifyController {
  constructor(
    private readonly forms: LinkForms,
    private readonly verification: EmailVerification,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (await this.forms.takeToken(request, reply, PATH)) return;
    const { browserRequest, context } = await this.forms.read(request);
    await this.forms.send(reply, browserRequest, await this.page(request, context));
  }

  @Post()
  @HttpCode(200)
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const show = (context: PageContext): Promise<Page> => this.page(request, context);
    await this.forms.receive(request, reply, show, async (_, { client }, context) => {
      const token = this.forms.tokenOf(request, PATH);
      if (!(await this.verification.confirm(token, client)))
        return { content: deadLinkPage(context), status: 422 };
      return { content: confirmedPage(context), cookies: [this.forms.forgetToken(PATH)] };
    });
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

  private async page(request: FastifyRequest, context: PageContext): Promise<Page> {
    const email = await this.verification.addressOf(this.forms.tokenOf(request, PATH));
    if (email === undefined) return { content: deadLinkPage(context), status: 422 };
    return { content: confirmPage({ ...context, email, action: PATH }) };
  }
}
