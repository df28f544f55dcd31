import { type Cutoffs, cutoffsAt } from '../../src/domain/retention/retention-rule.js';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** 1970-01-01 was a Thursday; ISO weeks begin on Mondays. */
const DAYS_FROM_MONDAY_TO_EPOCH = 3;

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

/** Which versions of one file are thinned: the rule that src/domain/retention/retention-rule.ts describes. */
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
