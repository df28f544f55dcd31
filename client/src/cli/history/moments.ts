import { UsageError } from '../errors.js';

const MOMENT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** `2026-11-27`, `2026-11-27 14:30`, `2026-11-27T14:30:00Z`: local time unless it has a zone. @throws UsageError */
export function parseMoment(text: string): Date {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const moment = new Date(isDay ? `${text}T00:00` : text.replace(' ', 'T'));
  if (MOMENT.test(text) && Number.isFinite(moment.getTime())) return moment;
  throw new UsageError(`${text} is not a date: write 2026-11-27, '2026-11-27 14:30' or 2026-11-27T14:30:00Z`);
}

/** A date in local time for users; `unknown time` when the service has sent an invalid one. */
export function formatMoment(moment: Date): string {
  if (Number.isNaN(moment.getTime())) return 'unknown time';
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-');
  return `${day} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(':')}`;
}

/** A date in UTC for JSON; null when the service has sent an invalid one. */
export const jsonMoment = (moment: Date): string | null =>
  Number.isNaN(moment.getTime()) ? null : moment.toISOString();
