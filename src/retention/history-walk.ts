import type { VersionIds } from '../files/index.js';
import { BEFORE_ALL_IDS, Database, type Parameter, type Statement } from '../platform/database/index.js';
import { bordersAt } from './retention-rule.js';
import { retentionStatements } from './retention.queries.js';

const WORKSPACES = 500;
const FILES = 500;

/** Versions that are looked at together; a file that has more is looked at alone. */
const VERSIONS = 4_000;

/** Versions that are read at a time. */
const PAGE = 4_000;

/** Some versions of a workspace that have a newer one in their bucket. */
export interface Batch {
  readonly versionIds: VersionIds;
  /** How many they are. */
  readonly versions: number;
}

/** A batch as it is read, and the place of its last version. */
interface Page extends Batch, Place {}

/** Where one has come to in a file's history. */
interface Place {
  readonly fileId: string;
  readonly cursor: number;
}

/** Of an id as PostgreSQL writes it, and of what stands before each in an array. */
const ID = 36;
const BEFORE_ID = 1;

/** Every workspace that is not deleted, in bounded memory. */
export async function* workspaceIds(database: Database): AsyncGenerator<string, void> {
  for (let above: string | undefined = BEFORE_ALL_IDS; above !== undefined;) {
    const page: { id: string }[] = await database.run(retentionStatements.workspaces, [above, WORKSPACES]);
    for (const { id } of page) yield id;
    above = page.at(-1)?.id;
  }
}

/**
 * The versions of a workspace that have a newer one in their bucket, `batchSize` at a time, in bounded memory and
 * without a lock. What is written meanwhile takes none of them out of it: a bucket only ever gets newer versions, and
 * its newest is never thinned.
 * @param batchSize asked before every batch: the machine may have become slower since the last one
 */
export async function* supersededVersions(
  database: Database,
  workspaceId: string,
  now: Date,
  batchSize: () => number,
): AsyncGenerator<Batch, void> {
  const { all, hourly, daily } = bordersAt(now);
  for (let above: string | undefined = BEFORE_ALL_IDS; above !== undefined;) {
    const files: string[] = await filesAbove(database, workspaceId, above);
    let after: Place | undefined = files.length > 0 ? { fileId: BEFORE_ALL_IDS, cursor: 0 } : undefined;
    while (after) {
      const values = [workspaceId, files, all, hourly, daily, after.fileId, after.cursor, PAGE];
      const [page]: Page[] = await read(database, retentionStatements.superseded, values);
      if (page) yield* inBatches(page, batchSize);
      after = page?.versions === PAGE ? page : undefined;
    }
    above = files.at(-1);
  }
}

/** The ids stay one text: a page of them as strings would be four thousand. */
function* inBatches({ versionIds, versions }: Batch, batchSize: () => number): Generator<Batch, void> {
  for (let from = 0, to; from < versions; from = to) {
    to = Math.min(from + batchSize(), versions);
    const ids = versionIds.slice(placeOf(from) + BEFORE_ID, placeOf(to));
    yield { versionIds: `{${ids}}`, versions: to - from };
  }
}

const placeOf = (index: number): number => index * (BEFORE_ID + ID);

async function filesAbove(database: Database, workspaceId: string, above: string): Promise<string[]> {
  const values = [workspaceId, above, FILES, VERSIONS];
  return (await read<{ id: string }>(database, retentionStatements.files, values)).map(({ id }) => id);
}

function read<Row>(database: Database, query: Statement, values: readonly Parameter[]): Promise<Row[]> {
  return database.snapshot(async (tx) => {
    await tx.run(retentionStatements.planAnew, []);
    return tx.run<Row>(query, values);
  });
}
