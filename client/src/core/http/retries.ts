import type { HttpRequest } from './request.js';

/** How failed requests are retried. */
export interface RetryOptions {
  /** Most attempts, the first one included. */
  readonly attempts: number;
  /** The first pause; each further one is twice as long. */
  readonly firstPauseMs: number;
  /** The longest pause. A request is not retried when the service asks for a longer one (Retry-After). */
  readonly longestPauseMs: number;
}

export const RETRIES: RetryOptions = { attempts: 6, firstPauseMs: 500, longestPauseMs: 60_000 };

/** Transient errors of gateways and of the service. Only repeatable requests are retried after them. */
const PASSING = new Set([500, 502, 503, 504]);

/**
 * How long to wait before a retry, in milliseconds: a random part of the pause, so that clients that failed together do not
 * return together, added to Retry-After if the answer has one.
 * @param answer undefined when there was none
 * @returns undefined when the request is not to be retried
 */
export function pauseBefore(
  request: HttpRequest,
  answer: Response | undefined,
  attempt: number,
  { attempts, firstPauseMs, longestPauseMs }: RetryOptions,
  random: () => number,
): number | undefined {
  const { repeatable } = request;
  if (attempt >= (answer ? attempts : Math.min(attempts, request.attempts ?? attempts))) return undefined;
  const asked = answer && retryAfterMs(answer.headers);
  // With these answers the service has not carried out the request.
  const isRefused = (answer?.status === 429 || answer?.status === 503) && asked !== undefined;
  const mayPass = answer === undefined || answer.status === 429 || PASSING.has(answer.status);
  if (!isRefused && !(repeatable && mayPass)) return undefined;
  if (asked !== undefined && asked > longestPauseMs) return undefined;
  return (asked ?? 0) + random() * Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1));
}

/** Retry-After in milliseconds. Its value is seconds or a date; the identity handler has a header of its own. */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? headers.get('x-retry-after');
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
