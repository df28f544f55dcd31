import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { createHmac, randomBytes } from 'node:crypto';
import { type BrowserSession, BrowserSessions, type Client, equalSecrets } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Forbidden } from '../../platform/http/index.js';
import type { Form } from './form.js';

/** A browser's request: its session, and the CSRF token for its forms. */
export interface BrowserRequest {
  readonly session: BrowserSession | null;
  readonly csrfToken: CsrfToken;
  readonly client: Client;
  readonly cookie: string | undefined;
  /** Cookies that the answer must set, before those of the request's own work. */
  readonly cookies: readonly string[];
}

/** Shown when a form's CSRF token is not this browser's. */
export const OUT_OF_DATE = 'This page was out of date. Please try again.';

/** Where a form comes from, according to the browser's `Sec-Fetch-Site`; a page cannot change it. */
const OWN_SITES = new Set([undefined, 'same-origin', 'none']);

@Injectable()
export class BrowserRequests {
  constructor(
    private readonly browserSessions: BrowserSessions,
    private readonly configuration: Configuration,
  ) {}

  /** The cookies of what a script or an element of another origin asks for are ignored; those of a link there are not. */
  async read(request: FastifyRequest): Promise<BrowserRequest> {
    const { headers, ip } = request;
    const isForeign = this.isForeignFetch(request);
    const cookie = isForeign ? undefined : headers.cookie;
    const { session, cookies } = await this.browserSessions.of(cookie, { ip });
    const csrfToken = CsrfToken.of(cookie, session?.token, this.configuration.isHttps);
    return {
      session,
      csrfToken,
      cookie,
      client: { ip, userAgent: headers['user-agent'] ?? '' },
      // A foreign request must not replace the secret of the browser's open forms.
      cookies: csrfToken.cookie === undefined || isForeign ? cookies : [...cookies, csrfToken.cookie],
    };
  }

  /** Whether a script or an element of another origin asks. Forms are checked by `hasValidCsrfToken`. */
  isForeignFetch({ method, headers }: FastifyRequest): boolean {
    if (method === 'POST') return false;
    const { origin = 'null' } = headers;
    if (!OWN_SITES.has(headers['sec-fetch-site'])) return headers['sec-fetch-mode'] !== 'navigate';
    return origin !== 'null' && origin !== new URL(this.configuration.publicUrl).origin;
  }

  /**
   * Whether a posted form is one of our own, made for this browser in its current state. False for an outdated form.
   * @throws Forbidden when another site has posted it
   */
  hasValidCsrfToken({ headers }: FastifyRequest, { csrfToken }: BrowserRequest, form: Form): boolean {
    // Our pages send no referrer, so browsers send `Origin: null` even for our own origin; then the token decides.
    const { origin = 'null' } = headers;
    const isForeign = origin !== 'null' && origin !== new URL(this.configuration.publicUrl).origin;
    if (isForeign || !OWN_SITES.has(headers['sec-fetch-site']))
      throw new Forbidden('the form was submitted by another site');
    return csrfToken.accepts(form.get('csrf_token'));
  }
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/**
 * Proves that a form was made for the browser that posts it, and for the user signed in there. The browser has a secret in a
 * cookie; the form has a hash of the session, keyed with the secret. Other sites can neither read the secret nor compute the
 * hash.
 */
class CsrfToken {
  private constructor(
    private readonly secret: string,
    private readonly sessionToken: string,
    /** The cookie to set; undefined when the browser already has it. */
    readonly cookie: string | undefined,
  ) {}

  /** @param isHttps allows a cookie that other hosts of the domain cannot set */
  static of(cookieHeader: string | undefined, sessionToken: string | undefined, isHttps: boolean): CsrfToken {
    const name = isHttps ? '__Host-form-secret' : 'form-secret';
    const found = cookieOf(cookieHeader, name);
    const secret = found ?? randomBytes(32).toString('base64url');
    const attributes = `Path=/; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;
    return new CsrfToken(secret, sessionToken ?? '', found ? undefined : `${name}=${secret}; ${attributes}`);
  }

  get value(): string {
    return createHmac('sha256', this.secret).update(this.sessionToken).digest('base64url');
  }

  /**
   * A text that only this browser can present again: keyed with its secret, and independent of its session.
   * @param purpose not a session's token
   */
  derive(purpose: string): string {
    return createHmac('sha256', this.secret).update(purpose).digest('base64url');
  }

  /** A browser that sent no cookie cannot have one of our forms. */
  accepts(value: string | undefined): boolean {
    return this.cookie === undefined && value !== undefined && equalSecrets(value, this.value);
  }
}

/** Two cookies of the same name are rejected: another party must have set one of them. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  return values.length === 1 && value !== undefined && SECRET.test(value) ? value : undefined;
}
