import type { HttpRequest } from './request.js';

/** How a failed request is repeated. */
export interface RetryOptions {
  /** The most, the first one included. */
  readonly attempts: number;
  /** Pauses grow from this, doubling. */
  readonly firstPauseMs: number;
  /** The longest pause. A service that asks for a longer one (Retry-After) is not asked again. */
  readonly longestPauseMs: number;
}

export const RETRIES: RetryOptions = { attempts: 6, firstPauseMs: 500, longestPauseMs: 60_000 };

/** Repeated if the request may be: those of gateways that lost the service, and a failure that may pass. */
const PASSING = new Set([500, 502, 503, 504]);

/**
 * How long to wait before a request is repeated, in milliseconds: a random time up to the pause, so that clients that
 * failed together do not come back together; after Retry-After where the answer has one.
 * @param answer undefined: there was none
 * @returns undefined when it is not to be repeated
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
  // The service has done nothing of a request that it answers so.
  const isRefused = (answer?.status === 429 || answer?.status === 503) && asked !== undefined;
  const mayPass = answer === undefined || answer.status === 429 || PASSING.has(answer.status);
  if (!isRefused && !(repeatable && mayPass)) return undefined;
  if (asked !== undefined && asked > longestPauseMs) return undefined;
  return (asked ?? 0) + random() * Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1));
}

/** Retry-After, which is in seconds or a date. The identity handler has a header of its own. */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? headers.get('x-retry-after');
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
