const DAY_MS = 24 * 60 * 60_000;

/**
 * The maximum age of a version at each resolution, to the millisecond; older versions are kept weekly. So a version's age
 * determines its bucket: none, its UTC hour, its UTC day or its ISO week. It is thinned when a newer version of the file falls
 * into that bucket, whatever the age of the newer one. Newer means a higher cursor: clocks are set back occasionally, cursors are
 * not. A version without a cursor is kept, because it is unknown whether a checkpoint pins it.
 *
 * Hours add up to days and days to weeks, so a version that is thinned at one time would also be thinned at any later
 * time: the number of runs in between does not affect the result. The newest version is always kept.
 *
 * The rule itself is SQL (retention.queries.ts); the tests check it against a pure function (test/kit/retention-rule.ts).
 */
export const KEPT_MS = { all: DAY_MS, hourly: 7 * DAY_MS, daily: 30 * DAY_MS };

/** Identifies the rule. When it changes, all files are queued again. */
export const RULE = `UTC ${Object.values(KEPT_MS).join(' ')}`;

/** The oldest creation times still kept at each resolution. */
export interface Cutoffs {
  readonly all: Date;
  readonly hourly: Date;
  readonly daily: Date;
}

/** Computes the cutoffs at a given time: a version of exactly 24 hours is still kept unconditionally. */
export function cutoffsAt(now: Date): Cutoffs {
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  return { all: before(KEPT_MS.all), hourly: before(KEPT_MS.hourly), daily: before(KEPT_MS.daily) };
}
