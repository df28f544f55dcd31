import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rowsStatements } from '../../src/domain/files/files.queries.js';
import type { TestDatabase } from './database.js';
import { isEngineThere } from './distributed-database.js';
import type { PulledChange, TestWorkspace } from './workspace.js';

/** Folds a log into the live files at its end: path → content hash and version. */
export function replay(changes: PulledChange[]): Map<string, { contentHash: string; version: number }> {
  const live = new Map<string, { contentHash: string; version: number }>();
  for (const { action, encryptedPath, contentHash, version } of changes) {
    if (action === 'delete') live.delete(encryptedPath);
    else live.set(encryptedPath, { contentHash, version });
  }
  return live;
}

/** The replay law: folding the log gives exactly the listing, the file count and the walked snapshot. */
export async function expectReplayLaw(workspace: TestWorkspace): Promise<void> {
  const live = replay(await workspace.log());
  const listed = (await workspace.list()).map((f) => [
    f.encrypted_path,
    { contentHash: f.content_hash, version: f.version },
  ]);
  expect(new Map(listed as [])).toEqual(live);
  expect((await workspace.status()).fileCount).toBe(live.size);
  expect(await walkSnapshot(workspace)).toEqual(live);
}

async function walkSnapshot(
  workspace: TestWorkspace,
): Promise<Map<string, { contentHash: string; version: number }>> {
  const files = new Map<string, { contentHash: string; version: number }>();
  for (let pageCursor: string | undefined; ;) {
    const { body } = await workspace
      .snapshot({ limit: 7, ...(pageCursor ? { pageCursor } : {}) })
      .expect(200);
    for (const { encryptedPath, contentHash, version } of body.files)
      files.set(encryptedPath, { contentHash, version });
    if (!body.hasMore) return files;
    pageCursor = body.nextPageCursor;
  }
}

/** Reads the database: each workspace's counter is the sum of the blobs of its versions, each counted once. */
export async function expectCountedDocuments({ query }: Pick<TestDatabase, 'query'>): Promise<void> {
  const drift = await query(`
    SELECT w.id, w.document_bytes AS counted, coalesce(sum(b.size), 0) AS actual
    FROM workspaces w LEFT JOIN blobs b ON b.workspace_id = w.id
      AND EXISTS (SELECT FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
    WHERE w.deleted_at IS NULL
    GROUP BY w.id HAVING w.document_bytes <> coalesce(sum(b.size), 0)`);
  expect(drift).toEqual([]);
}

/** Reads the database: no row has a dangling reference, and duplicated values agree. */
export async function expectWholeRows({ query }: Pick<TestDatabase, 'query'>): Promise<void> {
  const text = isEngineThere ? 'onNodes' : 'text';
  expect(await query(rowsStatements.withoutWorkspace[text])).toEqual([]);
  for (const { id } of await query<{ id: string }>('SELECT id FROM workspaces WHERE deleted_at IS NULL'))
    expect(await query(rowsStatements.faults[text], [id])).toEqual([]);
}

/** Reads the database: per workspace, cursors are 1..head without gaps, each upsert has one version, the counter is right. */
export async function expectDenseLogs(database: Pick<TestDatabase, 'query'>): Promise<void> {
  const wrong = await database.query(`
    SELECT w.id, w.head_cursor, count(c.cursor) AS rows, max(c.cursor) AS highest
    FROM workspaces w LEFT JOIN changes c ON c.workspace_id = w.id
    WHERE w.deleted_at IS NULL
    GROUP BY w.id HAVING w.head_cursor <> count(c.cursor) OR w.head_cursor <> coalesce(max(c.cursor), 0)`);
  expect(wrong).toEqual([]);
  const unmatched = await database.query(`
    SELECT c.workspace_id, c.cursor FROM changes c
    LEFT JOIN versions v ON v.workspace_id = c.workspace_id AND v.change_cursor = c.cursor
      AND v.file_id = c.file_id AND v.version = c.version AND v.content_hash = c.content_hash
    WHERE (c.action = 'upsert') <> (v.id IS NOT NULL)`);
  expect(unmatched).toEqual([]);
  await expectCountedDocuments(database);
  await expectWholeRows(database);
  const miscounted = await database.query(`
    SELECT w.id FROM workspaces w
    WHERE w.deleted_at IS NULL
      AND w.live_files <> (SELECT count(*) FROM files f WHERE f.workspace_id = w.id AND NOT f.is_deleted)`);
  expect(miscounted).toEqual([]);
}

/** Reads the database: every version has its bytes, with the right length and hash. Returns the number of versions. */
export async function scrub(database: Pick<TestDatabase, 'query'>, dataDir: string): Promise<number> {
  await expectWholeRows(database);
  const versions = await database.query<{
    workspace_id: string;
    blob_id: string;
    content_hash: string;
    encrypted_size: string;
    location: string;
    state: string;
    bytes: Buffer | null;
  }>(`SELECT v.workspace_id, v.blob_id, v.content_hash, v.encrypted_size, b.location, b.state, b.bytes
      FROM versions v JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id`);
  for (const version of versions) {
    const { workspace_id, blob_id } = version;
    const path = join(dataDir, 'blobs', workspace_id, blob_id.slice(-2), blob_id);
    const bytes = version.bytes ?? (await readFile(path));
    expect(version.state).toBe('live');
    expect(bytes.length).toBe(Number(version.encrypted_size));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(version.content_hash);
  }
  return versions.length;
}
