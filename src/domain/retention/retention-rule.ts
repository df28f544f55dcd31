const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** 1970-01-01 was a Thursday; ISO weeks begin on Mondays. */
const DAYS_FROM_MONDAY_TO_EPOCH = 3;

/** The maximum age of a version at each resolution, to the millisecond; older versions are kept weekly. */
export const KEPT_MS = { all: DAY_MS, hourly: 7 * DAY_MS, daily: 30 * DAY_MS };

/** Identifies the rule. When it changes, all files are queued again. */
export const RULE = `UTC ${Object.values(KEPT_MS).join(' ')}`;

/** The fields of a file version that matter to retention. */
export interface HistoryEntry {
  readonly id: string;
  readonly createdAt: Date;
  /** Orders versions; null for a version written before the log recorded them. */
  readonly changeCursor: number | null;
}

/** Versions that are never thinned. */
export interface Exempt {
  readonly currentId: string;
  readonly pinnedIds: ReadonlySet<string>;
}

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

/**
 * Which versions of one file are thinned. A version's age determines its bucket: none, its UTC hour, its UTC day or
 * its ISO week. It is thinned when a newer version of the file falls into that bucket, whatever the age of the newer
 * one. Newer means a higher cursor: clocks are set back occasionally, cursors are not. A version without a cursor is
 * kept, because it is unknown whether a checkpoint pins it.
 *
 * Hours add up to days and days to weeks, so a version that is thinned at one time would also be thinned at any later
 * time: the number of runs in between does not affect the result. The newest version is always kept.
 *
 * The service never calls this function: it runs the rule as SQL (retention.queries.ts), and the tests check the SQL
 * against it.
 */
export function versionsToThin(history: readonly HistoryEntry[], exempt: Exempt, now: Date): string[] {
  const cutoffs = cutoffsAt(now);
  return history
    .filter((version) => version.id !== exempt.currentId && !exempt.pinnedIds.has(version.id))
    .filter((version) => {
      const bucketOf = bucketing(version.createdAt, cutoffs);
      if (!bucketOf) return false;
      return history.some((other) => isNewer(other, version) && bucketOf(other) === bucketOf(version));
    })
    .map(({ id }) => id);
}

type Bucketing = (version: HistoryEntry) => number;

function bucketing(createdAt: Date, cutoffs: Cutoffs): Bucketing | undefined {
  if (createdAt >= cutoffs.all) return undefined;
  if (createdAt >= cutoffs.hourly) return hourOf;
  return createdAt >= cutoffs.daily ? dayOf : weekOf;
}

const hourOf: Bucketing = ({ createdAt }) => Math.floor(createdAt.getTime() / HOUR_MS);
const dayOf: Bucketing = ({ createdAt }) => Math.floor(createdAt.getTime() / DAY_MS);
const weekOf: Bucketing = (version) => Math.floor((dayOf(version) + DAYS_FROM_MONDAY_TO_EPOCH) / 7);

function isNewer(a: HistoryEntry, b: HistoryEntry): boolean {
  return a.changeCursor !== null && b.changeCursor !== null && a.changeCursor > b.changeCursor;
}
