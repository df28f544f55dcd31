import { All, Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  afterBody,
  BadRequest,
  Forbidden,
  NotFound,
  parseJsonObject,
  readBody,
  refuseUnknownMembers,
} from '../../platform/http/index.js';
import { KillSwitch, OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { isPending } from './factors/index.js';
import {
  CLIENT_ADDRESS_HEADER,
  identityAction,
  type IdentityAction,
  NO_PASSWORDS,
} from './identity-request.js';
import { IDENTITY_DOCS } from './identity.docs.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';
import { GuessLimit } from './wrong-passwords.js';

/** `Sec-Fetch-Site` of the service's own pages, and of addresses that a person enters or opens. */
const OWN_SITES = new Set(['same-origin', 'none']);

/** The library's cookie for a passkey's challenge. With https the library adds a prefix. */
const CHALLENGE = /^\s*(?:__Secure-)?better-auth\.better-auth-passkey=/;

const BEARER = /^Bearer /i;

/** A cookie without meaning: the handler checks the origin of some requests only if they have a cookie. */
const NO_COOKIE = 'ignored=1';

/**
 * Adjusts the headers by which the identity handler judges the source of a request, before it checks the origin of POSTs with
 * cookies, and of every sign-in and sign-up. Cookies count only for browsers on the service's own origin.
 *
 * - From another origin, cookies are ignored and none are set, so that a flaw in a page there does not open the account. The
 *   handler still refuses an untrusted origin where it would have done so with the cookies.
 * - A program sends neither `Origin` nor `Sec-Fetch-Site`; browsers send one of them with each POST. Cookies of a program, and
 *   those beside a bearer token, are ignored except those of a sign-in in several steps: a cookie jar keeps the session of the
 *   last sign-in, and the handler would refuse the next one. Node.js's `fetch` sends `Sec-Fetch-Mode`, which the handler takes
 *   for a browser's.
 * - A trusted origin is replaced by the service's own. It is compared here, as a whole.
 * @returns whether the answer may set cookies
 */
export function settleSource(headers: Headers, method: string, configuration: Configuration): boolean {
  const own = new URL(configuration.publicUrl).origin;
  const origin = headers.get('origin');
  const isProgram = origin === null && !headers.has('sec-fetch-site');
  const isOwn = isProgram || isOwnBrowser(headers, own);
  const isTrusted = origin !== null && configuration.trustedOrigins.includes(origin);
  if (isProgram) {
    headers.delete('sec-fetch-mode');
    headers.delete('sec-fetch-dest');
  }
  if (isTrusted) headers.set('origin', own);
  if (!headers.has('cookie')) return isOwn;
  if (!isOwn) {
    if (isTrusted || method !== 'POST') headers.delete('cookie');
    else headers.set('cookie', NO_COOKIE);
  } else if (isProgram || BEARER.test(headers.get('authorization') ?? '')) {
    const isKept = keepSteps(headers);
    if (isKept && isProgram && !headers.has('referer')) headers.set('origin', own);
  }
  return isOwn;
}

/** Pages send no referrer, so browsers may send `Origin: null` for the service's own pages. */
function isOwnBrowser(headers: Headers, own: string): boolean {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (site !== null && !OWN_SITES.has(site)) return false;
  return origin === null || origin === own || (origin === 'null' && site === 'same-origin');
}

/** Keeps only the cookies of a sign-in or a passkey registration in several steps. @returns whether there are any */
function keepSteps(headers: Headers): boolean {
  const pairs = (headers.get('cookie') ?? '').split(';');
  const steps = pairs.filter((pair) => isPending(pair) || CHALLENGE.test(pair));
  if (steps.length > 0) headers.set('cookie', steps.join(';'));
  else headers.delete('cookie');
  return steps.length > 0;
}

const BODY_LIMIT = 64 * 1024;

/** Mounts the identity handler at /api/auth. It checks sessions, cookies and origins itself. */
@Controller('api/auth')
@Documented(IDENTITY_DOCS)
@Public('the identity handler has its own session, cookie and origin checks')
@OpenWhenReadOnly('users can sign in and out; other writes are refused below')
export class IdentityController {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly configuration: Configuration,
    private readonly guessLimit: GuessLimit,
    private readonly killSwitch: KillSwitch,
  ) {}

  @All('*')
  async handle(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { '*': path } = request.params as { '*': string };
    const action = isPlain(request.originalUrl, path) ? identityAction(request.method, path) : undefined;
    if (!action || (action.needsMail && !this.configuration.hasMail)) throw new NotFound('not found');
    if (action.isPassword && this.configuration.oidcOnly) throw new Forbidden(NO_PASSWORDS);
    if (action.isWrite) {
      this.killSwitch.refuseWhen('read-only');
      afterBody(request.raw, () => this.killSwitch.refuseWhen('read-only'));
    }
    if (action.isGuessable) await this.guessLimit.count(path, request.ip);

    // Always use our own address: a request target may name any host, and the handler would accept it as its own.
    const url = new URL(`/api/auth/${path}`, this.configuration.publicUrl);
    url.search = queryOf(request.url);
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const headers = headersOf(request);
    const maySetCookies = settleSource(headers, request.method, this.configuration);
    const { method } = request;
    const body = method === 'POST' ? await readBody(request.raw, BODY_LIMIT) : undefined;
    if (body) refuseUnfit(body, action.members);
    const sent = body?.length ? { body: new Uint8Array(body) } : {};
    const webRequest = new Request(url, { method, headers, signal: gone.signal, ...sent });
    const answer = await this.identity.handler(webRequest);
    reply.status(answer.status);
    answer.headers.forEach((value, name) => {
      if (name !== 'set-cookie') reply.header(name, value);
    });
    if (maySetCookies) for (const cookie of answer.headers.getSetCookie()) reply.header('set-cookie', cookie);
    await reply.header('cache-control', 'no-store').send(Buffer.from(await answer.arrayBuffer()));
  }
}

function queryOf(target: string): string {
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start);
}

/**
 * Whether the path of a request is in its one accepted spelling. The router decodes paths, but a proxy with rules for sign-ins
 * may not, and would let `sign-in%2femail` pass.
 * @param target as it was sent: `request.url` is normalised for the log
 */
function isPlain(target: string, path: string): boolean {
  const [spelled = ''] = target.replace(/^https?:\/\/[^/]*/i, '').split('?');
  return spelled === `/api/auth/${path}`;
}

function headersOf(request: FastifyRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  headers.set(CLIENT_ADDRESS_HEADER, request.ip);
  return headers;
}

/** Accepts only JSON: any site could post a form, and the check below would not see all that a form can contain. */
function refuseUnfit(body: Buffer, members: IdentityAction['members']): void {
  const given = Object.keys(parseJsonObject(body));
  if (members) refuseUnknownMembers(given, members);
  // PostgreSQL's text cannot store NUL, and the handler would fail too late. JSON can contain NUL in this spelling only.
  if (body.includes('\\u0000')) throw new BadRequest('NUL characters are not accepted');
}
