const LEAST = 1_000_000;
/** More changes than one workspace gets: a hundred a second, day and night. */
const A_MINUTE = 6_000;
const MINUTE_MS = 60_000;

/**
 * How far the heads are moved on. Cursors that clients were given after the backup was made stand for changes that it has
 * not, and none may be given twice: neither by this service, nor by one that was restored from the same or an older
 * backup before and has run since. So it is a million, and 6,000 more for each whole minute that has passed.
 */
export function cursorGap(takenAt: Date, now: Date): number {
  const minutes = Math.max(0, Math.floor((now.getTime() - takenAt.getTime()) / MINUTE_MS));
  return LEAST + A_MINUTE * minutes;
}
