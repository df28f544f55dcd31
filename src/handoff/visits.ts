import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type BrowserSession, BrowserSessions, type Client } from '../auth/index.js';
import { Configuration } from '../config/index.js';
import { Forbidden } from '../platform/http/index.js';
import type { Form } from './form.js';
import { FormToken } from './form-token.js';

/** A request of a browser: who is signed in on it, and what makes its forms genuine. */
export interface Visit {
  readonly session: BrowserSession | null;
  readonly formToken: FormToken;
  readonly client: Client;
  readonly cookie: string | undefined;
  /** What the answer has to set; what its work sets as well comes after. */
  readonly cookies: readonly string[];
}

/** To who posts a form that is not genuine. */
export const OUT_OF_DATE = 'This page was out of date. Please try again.';

/** Where a form comes from, as the browser itself says; a page cannot make it say otherwise. */
const OWN_SITES = new Set([undefined, 'same-origin', 'none']);

@Injectable()
export class Visits {
  constructor(
    private readonly browserSessions: BrowserSessions,
    private readonly configuration: Configuration,
  ) {}

  async read({ headers, ip }: FastifyRequest): Promise<Visit> {
    const { cookie } = headers;
    const { session, cookies } = await this.browserSessions.of(cookie);
    const formToken = FormToken.of(cookie, session?.token, this.configuration.isHttps);
    return {
      session,
      formToken,
      cookie,
      client: { ip, userAgent: headers['user-agent'] ?? '' },
      cookies: formToken.cookie === undefined ? cookies : [...cookies, formToken.cookie],
    };
  }

  /**
   * Whether a form that was posted is one of ours, made for this browser as it is now. False for one that is out of date.
   * @throws Forbidden when another site has posted it
   */
  isGenuine({ headers }: FastifyRequest, { formToken }: Visit, form: Form): boolean {
    // Our pages send no referrer, which makes browsers say `null` for the page's own origin too: then the token decides.
    const { origin = 'null' } = headers;
    const isForeign = origin !== 'null' && origin !== new URL(this.configuration.publicUrl).origin;
    if (isForeign || !OWN_SITES.has(headers['sec-fetch-site']))
      throw new Forbidden('this form was sent by another site');
    return formToken.accepts(form.get('csrf_token'));
  }
}
