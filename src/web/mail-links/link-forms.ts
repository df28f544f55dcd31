import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  type BrowserRequest,
  BrowserRequests,
  cookieOf,
  Form,
  ONWARDS,
  OUT_OF_DATE,
  type Page,
  redirect,
  REFUSED,
  sendPage,
} from '../layout/index.js';
import { NotFound } from '../../platform/http/index.js';

/** The properties of all pages behind mails. */
export interface PageContext {
  readonly host: string;
  readonly csrfToken: string;
  /** The user who is signed in in the browser, if any. */
  readonly userId: string | undefined;
  /** A fault that concerns none of the fields. */
  readonly alert?: string | undefined;
}

/** The property of pages without a form. */
export type OfHost = Pick<PageContext, 'host'>;

/** Documentation of the answers of a page that opens a link, and of its form. */
export const NO_MAIL = 'the service cannot send mail';
const DEAD_LINK = page('the link does not work any more');
export const OPENED = { 200: page('the page'), 303: ONWARDS, 404: NO_MAIL, 422: DEAD_LINK };
const AGAIN = page('the page again, with the errors, or the link does not work any more');
export const USED = { ...REFUSED, 404: NO_MAIL, 422: AGAIN };
export const TOKEN_QUERY = { token: { description: 'The token of the link.' } };

/** Why these pages are public. */
export const LINK_IS_CREDENTIAL = 'the link is the credential; the page has its own origin and form checks';

export type Show = (context: PageContext) => Page | Promise<Page>;

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** A browser keeps the token of a link until the form is posted, but no longer than the shortest-lived link works. */
const KEPT_SECONDS = 30 * 60;

/**
 * The common part of the pages behind mails. The token of a link leaves the address at once: the browser keeps it in a cookie, so
 * that it is neither in the history nor on the screen, and no page can leak it. Opening a link does not use it up; only posting
 * the form does, so programs that follow the links in mails do no harm.
 */
@Injectable()
export class LinkForms {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly configuration: Configuration,
  ) {}

  /** @throws NotFound where passwords are switched off */
  requirePasswords(): void {
    if (this.configuration.oidcOnly) throw new NotFound('not found');
  }

  /** @throws NotFound where the service cannot send mail */
  async read(request: FastifyRequest): Promise<{ browserRequest: BrowserRequest; context: PageContext }> {
    if (!this.configuration.hasMail) throw new NotFound('not found');
    const browserRequest = await this.browserRequests.read(request);
    const { publicHost: host } = this.configuration;
    const { csrfToken, session } = browserRequest;
    return { browserRequest, context: { host, csrfToken: csrfToken.value, userId: session?.userId } };
  }

  /** Whether the address has a token; if so, moves it into a cookie and redirects the browser to the same page without it. */
  private async takeToken(request: FastifyRequest, reply: FastifyReply, path: string): Promise<boolean> {
    const token = Form.ofQuery(request).all('token')[0];
    if (token === undefined || !this.configuration.hasMail) return false;
    if (this.browserRequests.isForeignFetch(request)) return false;
    await redirect(reply, path, [this.cookie(path, TOKEN.test(token) ? token : '')]);
    return true;
  }

  async open(request: FastifyRequest, reply: FastifyReply, path: string, show: Show): Promise<void> {
    if (await this.takeToken(request, reply, path)) return;
    const { browserRequest, context } = await this.read(request);
    await this.send(reply, browserRequest, await show(context));
  }

  /** The token that this browser keeps for a page; empty when there is none. */
  tokenOf({ headers }: FastifyRequest, path: string): string {
    return cookieOf(headers.cookie, this.nameFor(path)) ?? '';
  }

  /** A cookie that makes the browser delete the token. */
  forgetToken(path: string): string {
    return this.cookie(path, '');
  }

  /**
   * Answers a form with the page that `work` returns. A form that was not made for this browser gets 403, with the page again.
   */
  async receive(
    request: FastifyRequest,
    reply: FastifyReply,
    show: Show,
    work: (form: Form, browserRequest: BrowserRequest, context: PageContext) => Promise<Page>,
  ): Promise<void> {
    const form = await Form.read(request);
    const { browserRequest, context } = await this.read(request);
    const answer = this.browserRequests.hasValidCsrfToken(request, browserRequest, form)
      ? await work(form, browserRequest, context)
      : { ...(await show({ ...context, alert: OUT_OF_DATE })), status: 403 };
    await this.send(reply, browserRequest, answer);
  }

  /** Sends a page with the cookies that the browser needs for its forms. */
  async send(reply: FastifyReply, { cookies }: BrowserRequest, page: Page): Promise<void> {
    await sendPage(reply, {
      formTargets: ["'self'"],
      ...page,
      cookies: [...cookies, ...(page.cookies ?? [])],
    });
  }

  private nameFor(path: string): string {
    return `${this.configuration.isHttps ? '__Host-' : ''}link${path.replaceAll('/', '-')}`;
  }

  private cookie(path: string, token: string): string {
    const attributes = `Path=/; HttpOnly; SameSite=Lax${this.configuration.isHttps ? '; Secure' : ''}`;
    return `${this.nameFor(path)}=${token}; Max-Age=${token ? KEPT_SECONDS : 0}; ${attributes}`;
  }
}
