import { type DynamicModule, Global, Injectable, Module } from '@nestjs/common';
import { isISO8601 } from 'class-validator';

/** The only reader of the time of day, which rules take as a parameter and tests move. Durations and deadlines use `elapsed`. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }

  /** Milliseconds since some moment: for how long ago something was. Unlike the time it never jumps. */
  elapsed(): number {
    return performance.now();
  }
}

@Global()
@Module({})
export class ClockModule {
  static with(clock: Clock): DynamicModule {
    return { module: ClockModule, providers: [{ provide: Clock, useValue: clock }], exports: [Clock] };
  }
}

/** ISO 8601 has more (weeks, days of the year, signed years), which `Date` would read as another day. */
const CALENDAR_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?$/;

/** Whether a text is a calendar date, or a date with a time, in ISO 8601. */
export function isInstant(text: unknown): text is string {
  return typeof text === 'string' && CALENDAR_TIME.test(text) && isISO8601(text, { strict: true });
}

/** A time without a zone is UTC: the machine's own zone must not decide when something ends. */
export function parseInstant(text: string): Date {
  const hasZone = !text.includes('T') || /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text);
  return new Date(hasZone ? text : `${text}Z`);
}

/**
 * What `work` gives, when it does within `ms`. The work itself goes on: who calls this sees to its end.
 * @throws what `tooLate` makes when it does not, and what the work throws
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

/** How long a shutdown waits for work in the background. What is cut off then is done again after the next start. */
const LAST_BATCH_MS = 10_000;

/** At a shutdown: resolves when background work has ended, well or not, or after ten seconds. Never rejects. */
export const drained = (work: Promise<unknown>): Promise<void> =>
  inTime(LAST_BATCH_MS, work, () => new Error('it takes too long')).then(nothing, nothing);
