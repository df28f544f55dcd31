import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { BrowserSessions } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { RateLimiter } from '../../platform/limits/index.js';
import { Log } from '../../platform/log.js';
import {
  asSource,
  SignInForms,
  singleSignOnOption,
  type RejectedSignIn,
  type Form,
  OUT_OF_DATE,
  type Page,
  type BrowserRequest,
  BrowserRequests,
} from '../layout/index.js';
import { handoffPage } from './handoff.js';
import type { Target } from './targets.js';

const HANDOFFS_PER_MINUTE = 20;

/** The one-time token for the new session, and the browser's cookies. */
export interface HandoffResult {
  readonly token: string;
  readonly cookies: readonly string[];
}

/**
 * Signs an app or a website in through the browser. Only posting one of our own forms does so; opening the page changes nothing.
 */
@Injectable()
export class Handoff {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly signInForms: SignInForms,
    private readonly browserSessions: BrowserSessions,
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
    private readonly log: Log,
  ) {}

  async ask(request: FastifyRequest, target: Target): Promise<Page> {
    return this.page(target, await this.browserRequests.read(request));
  }

  /**
   * The answer to the page's form: the token, or the page again with what was wrong.
   * @throws Forbidden when another site has posted it, TooManyRequests after twenty handoffs of a user in a minute
   */
  async answer(request: FastifyRequest, target: Target, form: Form): Promise<HandoffResult | Page> {
    const browserRequest = await this.browserRequests.read(request);
    const isOurs = this.browserRequests.hasValidCsrfToken(request, browserRequest, form);
    const entered = isOurs && (await this.enter(form, browserRequest));
    if (!entered) return { ...this.page(target, browserRequest, { alert: OUT_OF_DATE }), status: 403 };
    if ('faults' in entered) {
      const { status, headers, cookies = [] } = entered;
      const page = this.page(target, browserRequest, { failed: entered });
      return { ...page, status, headers, cookies: [...browserRequest.cookies, ...cookies] };
    }
    const { ip, userAgent } = browserRequest.client;
    const client = { ip, userAgent: `${target.name} (signed in with ${userAgent})` };
    try {
      await this.rateLimiter.hit(`handoff:${entered.userId}`, HANDOFFS_PER_MINUTE);
      return { token: await this.browserSessions.handOver(entered, client), cookies: entered.cookies };
    } catch (error) {
      if (!isSignedIn(form))
        await this.log.bestEffort('forget a session', () => this.browserSessions.forget(entered));
      throw error;
    }
  }

  private enter(form: Form, browserRequest: BrowserRequest) {
    if (!isSignedIn(form)) return this.signInForms.submit(form, browserRequest);
    return browserRequest.session && { ...browserRequest.session, cookies: browserRequest.cookies };
  }

  private page(
    target: Target,
    { session, csrfToken, cookies }: BrowserRequest,
    { failed, alert }: { failed?: RejectedSignIn; alert?: string } = {},
  ): Page {
    const { publicHost, signupEnabled, hasMail } = this.configuration;
    const content = handoffPage({
      target,
      session,
      failed,
      alert,
      host: publicHost,
      csrfToken: csrfToken.value,
      canSignUp: signupEnabled,
      singleSignOn: singleSignOnOption(this.configuration, target.kind),
      canRecover: hasMail,
    });
    const formTargets = target.kind === 'web' ? ["'self'", asSource(target.address)] : ["'self'"];
    return { content, formTargets, cookies };
  }
}

/** Whether the form uses the browser's existing session instead of creating one. */
function isSignedIn(form: Form): boolean {
  return form.get('intent') === 'continue';
}
