const LEAST = 1_000_000;
/** More changes than one workspace makes: a hundred per second, day and night. */
const A_MINUTE = 6_000;
const MINUTE_MS = 60_000;

/**
 * How far heads are advanced when the log is as it was at `takenAt`. Cursors that clients have received since stand for
 * changes that it does not contain, and no cursor may be issued twice: neither by this service, nor by one that was
 * restored from the same or an older backup earlier and has run since. So the gap is one million, plus 6,000 for each
 * whole minute that has passed.
 */
export function cursorGap(takenAt: Date, now: Date): number {
  const minutes = Math.max(0, Math.floor((now.getTime() - takenAt.getTime()) / MINUTE_MS));
  return LEAST + A_MINUTE * minutes;
}
