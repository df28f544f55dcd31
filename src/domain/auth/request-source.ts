import { Configuration } from '../../platform/config/index.js';
import { isPending } from './factors/index.js';

/** The values of `Sec-Fetch-Site` of the service's own pages, and of what a person enters or opens. */
const OWN_SITES = new Set(['same-origin', 'none']);

/** The library's name of the cookie of a passkey's challenge. With https the library adds a prefix. */
const CHALLENGE = /^\s*(?:__Secure-)?better-auth\.better-auth-passkey=/;

const BEARER = /^Bearer /i;

/** A cookie that says nothing: the handler checks the origin of some requests only when there is one. */
const NO_COOKIE = 'ignored=1';

/**
 * Adjusts the headers that tell the identity handler who asks, before it checks the origin of POSTs with cookies, and of
 * every sign-in and sign-up. Cookies count for browsers on the service's own origin alone.
 *
 * - From another origin they are ignored, and none are set, so that a fault in a page there does not open the account. An origin that
 *   is not trusted is refused by the handler where it would have been with them.
 * - A program sends neither `Origin` nor `Sec-Fetch-Site`; browsers send one of them with each POST. Its cookies, and those beside
 *   a bearer, are ignored but for what a sign-in in several steps sends back: a cookie jar keeps the session of the last sign-in, and the
 *   handler would refuse the next one. Node.js's `fetch` sends `Sec-Fetch-Mode`, which the handler takes for a browser's.
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

/** Pages send no referrer, so browsers may send `Origin: null` for the service's own. */
function isOwnBrowser(headers: Headers, own: string): boolean {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (site !== null && !OWN_SITES.has(site)) return false;
  return origin === null || origin === own || (origin === 'null' && site === 'same-origin');
}

/** Leaves the cookies of a sign-in, or of a new passkey, that has several steps. @returns whether there are any */
function keepSteps(headers: Headers): boolean {
  const pairs = (headers.get('cookie') ?? '').split(';');
  const steps = pairs.filter((pair) => isPending(pair) || CHALLENGE.test(pair));
  if (steps.length > 0) headers.set('cookie', steps.join(';'));
  else headers.delete('cookie');
  return steps.length > 0;
}
