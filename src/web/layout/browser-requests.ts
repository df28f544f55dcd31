import { Injectable } from '@nestjs/common';
import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type BrowserSession, BrowserSessions, type Client, equalSecrets } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  BadRequest,
  Forbidden,
  isEncodedUtf8,
  readBody,
  UnsupportedMediaType,
  utf8Of,
} from '../../platform/http/index.js';

const BODY_LIMIT = 32 * 1024;
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

const CHECKED: ReadonlySet<string> = new Set(['csrf_token', 'confirm_password']);

/** A posted form, or the query of an address. */
export class Form {
  private constructor(private readonly fields: URLSearchParams) {}

  /**
   * @throws UnsupportedMediaType for another content type, BadRequest for a form that is not UTF-8, or contains NUL, which the
   *   database cannot store
   */
  static async read(request: FastifyRequest): Promise<Form> {
    if (!FORM.test(request.headers['content-type'] ?? ''))
      throw new UnsupportedMediaType('the request body must be a URL-encoded form');
    const text = utf8Of(await readBody(request.raw, BODY_LIMIT));
    if (!isEncodedUtf8(text)) throw new BadRequest('the form is not UTF-8');
    const form = new Form(new URLSearchParams(text));
    for (const [name, value] of form.fields) {
      if (`${name}${value}`.includes('\0')) throw new BadRequest('the form contains a NUL character');
    }
    return form;
  }

  static ofQuery(request: FastifyRequest): Form {
    const start = request.url.indexOf('?');
    return new Form(new URLSearchParams(start < 0 ? '' : request.url.slice(start + 1)));
  }

  /** @throws BadRequest when the field occurs more than once: parsers differ in which one they use */
  get(name: string): string | undefined {
    const values = this.fields.getAll(name);
    if (values.length > 1) throw new BadRequest(`${name} appears more than once`);
    return values[0];
  }

  /** The trimmed value; empty when absent. */
  text(name: string): string {
    return this.get(name)?.trim() ?? '';
  }

  /** All fields except the CSRF token and the password that confirms the form. */
  others(): [string, string][] {
    return [...this.fields].filter(([name]) => !CHECKED.has(name));
  }

  all(name: string): string[] {
    return this.fields.getAll(name);
  }
}

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

/** `Sec-Fetch-Site` of requests from our own pages, or of addresses that the user opens; a page cannot change the header. */
const OWN_SITES = new Set([undefined, 'same-origin', 'none']);

@Injectable()
export class BrowserRequests {
  constructor(
    private readonly browserSessions: BrowserSessions,
    private readonly configuration: Configuration,
  ) {}

  /** Ignores the cookies of requests by scripts or elements of another origin, but not of links there. */
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

  /** Whether a script or an element of another origin sent the request. Forms are checked by `hasValidCsrfToken`. */
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

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const HANDED_OVER = /^(\S+) \(signed in with /;
const LONGEST = 60;

/** A short description of a session's User-Agent. Only a hint: a client can send any text. */
export function clientName(userAgent: string): string {
  const app = HANDED_OVER.exec(userAgent)?.[1];
  const browser = named(BROWSERS, userAgent);
  const system = named(SYSTEMS, userAgent);
  const client = [browser, system].filter(Boolean).join(' on ');
  if (app !== undefined) return client ? `${app}, signed in with ${client}` : app;
  return client || userAgent.slice(0, LONGEST) || 'Unknown client';
}

function named(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}
