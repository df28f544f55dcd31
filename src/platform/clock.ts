import { Injectable } from '@nestjs/common';
import { isISO8601 } from 'class-validator';

/**
 * The only source of the time of day; rules take the time as a parameter, and tests change it. Use `elapsed` for durations and
 * deadlines.
 */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }

  /** Milliseconds since an arbitrary moment, for measuring durations. Monotonic, unlike the time of day. */
  elapsed(): number {
    return performance.now();
  }
}

/** Excludes the rest of ISO 8601 (weeks, ordinal dates, signed years), which `Date` would parse as a different day. */
const CALENDAR_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?$/;

/** Whether a text is an ISO 8601 calendar date, with or without a time. */
export function isInstant(text: unknown): text is string {
  return typeof text === 'string' && CALENDAR_TIME.test(text) && isISO8601(text, { strict: true });
}

/** A time without a zone is UTC: expiry must not depend on the zone of the machine. */
export function parseInstant(text: string): Date {
  const hasZone = !text.includes('T') || /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text);
  return new Date(hasZone ? text : `${text}Z`);
}

/**
 * Resolves with the result of `work` if it settles within `ms`. The work is not cancelled; the caller must ensure that it ends.
 * @throws the error from `tooLate` on a timeout, or the error from `work`
 */
export async function inTime<T>(ms: number, work: Promise<T>, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const nothing = (): void => undefined;

/** How long a shutdown waits for background work. Work that is cut off is repeated after the next start. */
const LAST_BATCH_MS = 10_000;

/** For shutdown: resolves when background work has ended, successfully or not, or after ten seconds. Never rejects. */
export const drained = (work: Promise<unknown>): Promise<void> =>
  inTime(LAST_BATCH_MS, work, () => new Error('it takes too long')).then(nothing, nothing);
