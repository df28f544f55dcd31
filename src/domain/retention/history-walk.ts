import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BEFORE_ALL_IDS, Database, type Parameter, type Statement } from '../../platform/database/index.js';
import type { VersionIds } from '../files/index.js';
import { cutoffsAt } from './retention-rule.js';
import { retentionStatements } from './retention.queries.js';

export const FILES = 500;

/** Versions examined together; a file that has more is examined alone. */
export const VERSIONS = 4_000;

/** Versions per page. */
const PAGE = 4_000;

/** Versions of a workspace that have a newer one in their bucket. */
export interface Batch {
  readonly versionIds: VersionIds;
  /** The number of ids. */
  readonly versions: number;
}

/** By file id, the time at which a file next has versions to thin, as PostgreSQL text. */
export type DueTimes = ReadonlyMap<string, string>;

/** A batch as read, with the position of its last version. */
interface Page extends Batch, Place {
  readonly dueFiles: readonly string[];
  readonly dueTimes: readonly string[];
}

/** A position in the walk: a file and a cursor in its history. */
interface Place {
  readonly fileId: string;
  readonly cursor: number;
}

/** The length of an id in PostgreSQL's text format, and of the character before each id in an array. */
const ID = 36;
const BEFORE_ID = 1;

/**
 * Yields the versions of a workspace that have a newer one in their bucket, `batchSize` at a time, in bounded memory
 * and without a lock. Concurrent writes never invalidate a result: a bucket only gains newer versions, and its newest
 * version is never thinned.
 * @param batchSize called before every batch: the machine may have become slower since the last one
 */
export async function* supersededVersions(
  database: Database,
  workspaceId: string,
  now: Date,
  batchSize: () => number,
): AsyncGenerator<Batch, void> {
  for (let above: string | undefined = BEFORE_ALL_IDS; above !== undefined;) {
    const values = [workspaceId, above, FILES, VERSIONS];
    const rows = await read<{ id: string }>(database, retentionStatements.files, values);
    const files: string[] = rows.map(({ id }) => id);
    if (files.length > 0) yield* supersededOf(database, { workspaceId, files, now }, batchSize);
    above = files.at(-1);
  }
}

/** Files to examine together, as of a time. */
export interface Histories {
  readonly workspaceId: string;
  readonly files: readonly string[];
  readonly now: Date;
}

/**
 * Like `supersededVersions`, for some files.
 * @param onDue called once, before the first batch
 */
export async function* supersededOf(
  database: Database,
  { workspaceId, files, now }: Histories,
  batchSize: () => number,
  onDue?: (times: DueTimes) => void,
): AsyncGenerator<Batch, void> {
  const { all, hourly, daily } = cutoffsAt(now);
  let after: Place | undefined = { fileId: BEFORE_ALL_IDS, cursor: 0 };
  while (after) {
    const place: Place = after;
    const values = [workspaceId, files, all, hourly, daily, place.fileId, place.cursor, PAGE];
    const [page] = await read<Page>(database, retentionStatements.superseded, values);
    if (!page) throw new Error('the read of histories returned no row');
    onDue?.(new Map(page.dueFiles.map((file, index) => [file, page.dueTimes[index] ?? ''])));
    onDue = undefined;
    if (page.versions > 0) yield* inBatches(page, batchSize);
    after = page.versions === PAGE ? page : undefined;
  }
}

/** Keeps the ids in one text: as separate strings, a page would be four thousand of them. */
function* inBatches({ versionIds, versions }: Batch, batchSize: () => number): Generator<Batch, void> {
  for (let from = 0, to; from < versions; from = to) {
    to = Math.min(from + batchSize(), versions);
    const ids = versionIds.slice(placeOf(from) + BEFORE_ID, placeOf(to));
    yield { versionIds: `{${ids}}`, versions: to - from };
  }
}

const placeOf = (index: number): number => index * (BEFORE_ID + ID);

function read<Row>(database: Database, query: Statement, values: readonly Parameter[]): Promise<Row[]> {
  return database.snapshot(async (tx) => {
    await tx.run(retentionStatements.planAnew, []);
    return tx.run<Row>(query, values);
  });
}

/** The reference time of the last complete nightly run. The table has at most one row. */
@Entity('retention_progress')
export class RetentionProgress {
  @PrimaryColumn('boolean')
  id: true;

  @Column('timestamptz')
  asOf: Date;
}
