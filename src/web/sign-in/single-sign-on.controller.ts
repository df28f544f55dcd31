import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { SingleSignOn } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  asSource,
  type BrowserRequest,
  BrowserRequests,
  Form,
  PageErrorFilter,
  redirect,
  sendPage,
} from '../layout/index.js';
import { addressKey, NotFound } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { RateLimiter } from '../../platform/limits/index.js';
import { codePage, leavingPage, refusedPage } from './single-sign-on-pages.js';
import { SINGLE_SIGN_ON_DOCS } from './sign-in-pages.docs.js';
import { Targets } from './targets.js';

/** Each request may cost one to the provider. */
const REQUESTS_PER_MINUTE = 30;

/**
 * Leads to the provider and back. The way there is a page that the browser leaves by itself, not a redirect: browsers apply the
 * page's `form-action` to every redirect after a form, and only the provider knows where it redirects to.
 */
@Controller('auth/single-sign-on')
@Documented(SINGLE_SIGN_ON_DOCS)
@Public('the page has its own form checks; the answer of the provider is bound to the browser and verified')
@UseFilters(PageErrorFilter)
export class SingleSignOnController {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly singleSignOn: SingleSignOn,
    private readonly targets: Targets,
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  @Post()
  @HttpCode(200)
  @OpenWhenReadOnly('signs in; a new account is refused at its write')
  async begin(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.admit(request);
    const form = await Form.read(request);
    const returnTo = this.targets.pageOf(form);
    const browserRequest = await this.browserRequests.read(request);
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form))
      return this.refuse(reply, browserRequest, 'out-of-date', returnTo);
    const isFresh = form.get('fresh') !== undefined;
    const address = await this.singleSignOn.begin(browserOf(browserRequest), returnTo, isFresh);
    const { publicHost: host, oidcName: name = '' } = this.configuration;
    const content = leavingPage({ host, name, address });
    const headers = { refresh: `0; url=${address}` };
    await sendPage(reply, { content, headers, cookies: browserRequest.cookies });
  }

  @Get('callback')
  async finish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.admit(request);
    const query = Form.ofQuery(request);
    const browserRequest = await this.browserRequests.read(request);
    const result = await this.singleSignOn.finish(browserOf(browserRequest), {
      state: query.get('state'),
      code: query.get('code'),
      error: query.get('error'),
      issuer: query.get('iss'),
    });
    if ('refusal' in result) return this.refuse(reply, browserRequest, result.refusal, result.returnTo);
    const cookies = [...browserRequest.cookies, ...result.entered.cookies];
    if ('needsFactor' in result.entered) {
      const { publicHost: host, publicUrl } = this.configuration;
      const returnTo = new URL(result.returnTo, publicUrl);
      const content = codePage({ host, returnTo, csrfToken: browserRequest.csrfToken.value });
      const formTargets = ["'self'", ...returnTo.searchParams.getAll('return_to').map(asSource)];
      return sendPage(reply, { content, formTargets, cookies });
    }
    await redirect(reply, result.returnTo, cookies);
  }

  /** @throws NotFound without a provider, TooManyRequests */
  private async admit({ ip }: FastifyRequest): Promise<void> {
    if (!this.configuration.hasSingleSignOn) throw new NotFound('not found');
    await this.rateLimiter.hit(`single-sign-on:${addressKey(ip)}`, REQUESTS_PER_MINUTE);
  }

  private async refuse(
    reply: FastifyReply,
    { cookies }: BrowserRequest,
    refusal: Parameters<typeof refusedPage>[0]['refusal'],
    returnTo = '/account',
  ): Promise<void> {
    const { publicHost: host, oidcName: name = '' } = this.configuration;
    const content = refusedPage({ host, name, refusal, returnTo });
    await sendPage(reply, { content, status: 403, cookies });
  }
}

function browserOf({ csrfToken, client, session }: BrowserRequest) {
  return {
    derive: (purpose: string) => csrfToken.derive(purpose),
    client,
    session,
  };
}
