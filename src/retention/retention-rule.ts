const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** 1970-01-01 was a Thursday; ISO weeks begin on Mondays. */
const DAYS_FROM_MONDAY_TO_EPOCH = 3;

/** How old a version may be, to the millisecond, to be kept in that resolution; older ones are kept by the week. */
const KEPT_MS = { all: DAY_MS, hourly: 7 * DAY_MS, daily: 30 * DAY_MS };

/** A version of a file, as far as retention looks at it. */
export interface HistoryEntry {
  readonly id: string;
  readonly createdAt: Date;
  /** What orders versions; null for one that was written before the log had them. */
  readonly changeCursor: number | null;
}

/** What is never thinned. */
export interface Exempt {
  readonly currentId: string;
  readonly pinnedIds: ReadonlySet<string>;
}

/** The oldest creation times that are still kept in each resolution. */
export interface Borders {
  readonly all: Date;
  readonly hourly: Date;
  readonly daily: Date;
}

/** As seen at a moment: a version of exactly 24 hours is still kept whatever else there is. */
export function bordersAt(now: Date): Borders {
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  return { all: before(KEPT_MS.all), hourly: before(KEPT_MS.hourly), daily: before(KEPT_MS.daily) };
}

/**
 * Which versions of one file go. A version's age tells its bucket: none, its UTC hour, its UTC day or its ISO week; it
 * goes when a newer version of the file stands in that bucket, whatever that one's own age is. Newer is what has the
 * higher cursor: clocks are set back now and then, cursors are not. A version without a cursor stays, because nobody
 * can tell whether a checkpoint pins it.
 *
 * Hours make up days and days make up weeks, so what goes at one time would go at any later time too: runs in between
 * change nothing in the end. The newest version stays always.
 *
 * The service never calls this: it runs the rule as SQL (retention.queries.ts), and the tests hold that to this one.
 */
export function versionsToThin(history: readonly HistoryEntry[], exempt: Exempt, now: Date): string[] {
  const borders = bordersAt(now);
  return history
    .filter((version) => version.id !== exempt.currentId && !exempt.pinnedIds.has(version.id))
    .filter((version) => {
      const bucketOf = bucketing(version.createdAt, borders);
      if (!bucketOf) return false;
      return history.some((other) => isNewer(other, version) && bucketOf(other) === bucketOf(version));
    })
    .map(({ id }) => id);
}

type Bucketing = (version: HistoryEntry) => number;

function bucketing(createdAt: Date, borders: Borders): Bucketing | undefined {
  if (createdAt >= borders.all) return undefined;
  if (createdAt >= borders.hourly) return hourOf;
  return createdAt >= borders.daily ? dayOf : weekOf;
}

const hourOf: Bucketing = ({ createdAt }) => Math.floor(createdAt.getTime() / HOUR_MS);
const dayOf: Bucketing = ({ createdAt }) => Math.floor(createdAt.getTime() / DAY_MS);
const weekOf: Bucketing = (version) => Math.floor((dayOf(version) + DAYS_FROM_MONDAY_TO_EPOCH) / 7);

function isNewer(a: HistoryEntry, b: HistoryEntry): boolean {
  return a.changeCursor !== null && b.changeCursor !== null && a.changeCursor > b.changeCursor;
}
