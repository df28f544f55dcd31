import { Database } from '../platform/database/index.js';
import { bordersAt } from './retention-rule.js';
import { retentionStatements } from './retention.queries.js';

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
const WORKSPACES = 500;
const FILES = 500;

/** Versions that are looked at together; a file that has more is looked at alone. */
const VERSIONS = 4_000;
const PAGE = 4_000;

interface Superseded {
  readonly id: string;
  readonly fileId: string;
  readonly cursor: number;
}

/** Every workspace that is not deleted, in bounded memory. */
export async function* workspaceIds(database: Database): AsyncGenerator<string, void> {
  for (let above: string | undefined = LOWEST_ID; above !== undefined;) {
    const page: { id: string }[] = await database.run(retentionStatements.workspaces, [above, WORKSPACES]);
    for (const { id } of page) yield id;
    above = page.at(-1)?.id;
  }
}

/**
 * The versions of a workspace that have a newer one in their bucket, page by page, in bounded memory and without a
 * lock. What is written meanwhile takes none of them out of it: a bucket only ever gets newer versions, and its newest
 * is never thinned.
 */
export async function* supersededVersions(
  database: Database,
  workspaceId: string,
  now: Date,
): AsyncGenerator<string[], void> {
  for (let above: string | undefined = LOWEST_ID; above !== undefined;) {
    const files: string[] = await filesAbove(database, workspaceId, above);
    if (files.length > 0) yield* supersededOf(database, workspaceId, files, now);
    above = files.at(-1);
  }
}

function filesAbove(database: Database, workspaceId: string, above: string): Promise<string[]> {
  return database.snapshot(async (tx) => {
    await tx.run(retentionStatements.planAnew, []);
    const values = [workspaceId, above, FILES, VERSIONS];
    return (await tx.run<{ id: string }>(retentionStatements.files, values)).map(({ id }) => id);
  });
}

async function* supersededOf(
  database: Database,
  workspaceId: string,
  files: readonly string[],
  now: Date,
): AsyncGenerator<string[], void> {
  const { all, hourly, daily } = bordersAt(now);
  for (let after: Omit<Superseded, 'id'> | undefined = { fileId: LOWEST_ID, cursor: 0 }; after;) {
    const values = [workspaceId, files, all, hourly, daily, after.fileId, after.cursor, PAGE];
    const page: Superseded[] = await database.snapshot(async (tx) => {
      await tx.run(retentionStatements.planAnew, []);
      return tx.run<Superseded>(retentionStatements.superseded, values);
    });
    if (page.length > 0) yield page.map(({ id }) => id);
    after = page[PAGE - 1];
  }
}
