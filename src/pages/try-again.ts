import { HashingBusy } from '../auth/index.js';
import { type ApiError, TooManyRequests } from '../platform/http/index.js';

/** Status and alert of a form that is shown again because it could not be processed. */
export interface TryAgain {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly alert: string;
}

const SECONDS_OF_A_MINUTE = 60;

/** For a form with a password. @throws the error when it is about something else */
export function withAlert(error: unknown): TryAgain {
  if (!(error instanceof TooManyRequests || error instanceof HashingBusy)) throw error;
  const { status, headers } = error as ApiError;
  const minutes = Math.ceil(Number(headers['retry-after']) / SECONDS_OF_A_MINUTE);
  const alert =
    error instanceof HashingBusy
      ? 'Too many people are signing in at this moment. Try again in a few seconds.'
      : `Too many tries. Wait ${minutes > 1 ? `${minutes} minutes` : 'a minute'}, then try again.`;
  return { status, headers, alert };
}
