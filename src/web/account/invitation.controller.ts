import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented, page } from '../../platform/api-docs/index.js';
import { NO_PASSWORDS } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  ANSWERED,
  type BrowserRequest,
  BrowserRequests,
  Form,
  FORM,
  ONWARDS,
  OUT_OF_DATE,
  type Page,
  PageErrorFilter,
  redirect,
  sendPage,
  singleSignOnOption,
} from '../layout/index.js';
import { Forbidden } from '../../platform/http/index.js';
import { InvitationForm } from './invitation-form.js';
import { invitationPage, type RejectedInvitee, usedInvitationPage } from './invitation-page.js';
import { Invitations } from '../../domain/accounts/index.js';

const UNKNOWN = 'the invitation was used or replaced, or has expired';

const INVITATION_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the form of an invitation',
      query: { token: { description: 'The token of the link.' } },
      answers: {
        200: page('the form'),
        400: 'a parameter occurs more than once',
        403: 'the account of this browser is suspended',
        404: page(UNKNOWN),
      },
    },
    accept: {
      summary: 'Accept an invitation',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: page(UNKNOWN) },
    },
  },
} as const;

/** The link of an invitation, which makes an account while sign-up is closed. */
@Controller('account/invitation')
@Documented(INVITATION_DOCS)
@Public('the link has a token; the page has its own cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class InvitationController {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly invitations: Invitations,
    private readonly form: InvitationForm,
    private readonly configuration: Configuration,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const browserRequest = await this.browserRequests.read(request);
    await sendPage(reply, await this.page(browserRequest, Form.ofQuery(request).text('token')));
  }

  @Post()
  async accept(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const form = await Form.read(request);
    const browserRequest = await this.browserRequests.read(request);
    const token = form.text('token');
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form)) {
      const outOfDate = { name: form.text('name'), faults: {}, alert: OUT_OF_DATE };
      return sendPage(reply, await this.page(browserRequest, token, outOfDate, 403));
    }
    if (this.configuration.oidcOnly) throw new Forbidden(NO_PASSWORDS);
    const answer = await this.form.submit(form, browserRequest);
    if (answer === 'unknown') return sendPage(reply, this.unknown(browserRequest));
    if ('cookies' in answer)
      return redirect(reply, '/account', [...browserRequest.cookies, ...answer.cookies]);
    return sendPage(reply, await this.page(browserRequest, token, answer, 422));
  }

  private async page(
    browserRequest: BrowserRequest,
    token: string,
    failed?: RejectedInvitee,
    status = 200,
  ): Promise<Page> {
    const email = await this.invitations.addressOf(token);
    if (email === undefined) return this.unknown(browserRequest);
    const { csrfToken, cookies } = browserRequest;
    const { publicHost: host } = this.configuration;
    const singleSignOn = singleSignOnOption(this.configuration, 'account');
    const content = invitationPage({ host, csrfToken: csrfToken.value, token, email, singleSignOn, failed });
    return { status, content, formTargets: ["'self'"], cookies };
  }

  private unknown({ cookies }: BrowserRequest): Page {
    const { publicHost: host } = this.configuration;
    return { status: 404, content: usedInvitationPage({ host }), cookies };
  }
}
