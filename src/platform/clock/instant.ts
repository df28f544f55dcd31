import { isISO8601 } from 'class-validator';

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
