import { randomUUID } from 'node:crypto';
import type { TestDatabase } from './database.js';
import type { HistoryEntry } from './retention-rule.js';
import { sha256 } from './workspace.js';

/** One row of a workspace's log, to be written directly into the database. */
export interface LoggedOperation {
  /** Number of the file. */
  readonly file: number;
  readonly action: 'upsert' | 'delete';
  readonly at: Date;
  /** Whether the version predates cursors of versions. */
  readonly isLegacy?: boolean;
}

export interface WrittenVersion extends HistoryEntry {
  readonly fileId: string;
  readonly isCurrent: boolean;
  readonly isPinned: boolean;
}

/** A workspace's log and the checkpoints in it. */
export interface Log {
  readonly operations: readonly LoggedOperation[];
  readonly checkpoints?: readonly number[];
}

type Query = TestDatabase['query'];

/** Creates the owner of the data that is written here. */
export async function writeUser(query: Query): Promise<string> {
  const id = randomUUID();
  await query(`INSERT INTO users (id, name, email, email_verified) VALUES ($1, 'x', $2, false)`, [
    id,
    `${id}@example.org`,
  ]);
  return id;
}

/**
 * Writes a workspace with its whole history: paths `file-0` and so on. Each version has its own blob, whose bytes are the
 * version's id. Returns the versions.
 */
export async function writeLog(
  query: Query,
  userId: string,
  { operations, checkpoints = [] }: Log,
): Promise<{ workspaceId: string; versions: WrittenVersion[] }> {
  const workspaceId = randomUUID();
  const { files, versions, changes } = rowsOf(operations, checkpoints);
  // A blob has the id of its version.
  const heads = new Map(versions.map(({ id, fileId, version }) => [`${fileId} ${version}`, id]));
  await query(
    `INSERT INTO workspaces (id, user_id, name, head_cursor, live_files, document_bytes, created_at, updated_at)
     VALUES ($1, $2, 'x', $3, $4, $5, now(), now())`,
    [
      workspaceId,
      userId,
      operations.length,
      files.filter(({ isDeleted }) => !isDeleted).length,
      versions.length * SIZE,
    ],
  );
  await query(
    `INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, is_deleted, created_at, updated_at)
     SELECT $1, id, 'file-' || path, blob, hash, ${SIZE}, version, deleted, now(), now()
     FROM unnest($2::uuid[], $3::int[], $4::int[], $5::boolean[], $6::text[], $7::uuid[])
       AS f (id, path, version, deleted, hash, blob)`,
    [
      workspaceId,
      ...columns(files, ['id', 'path', 'version', 'isDeleted', 'contentHash']),
      files.map(({ id, version }) => heads.get(`${id} ${version}`)),
    ],
  );
  await query(
    `WITH v AS (
       SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::int[], $5::bigint[], $6::timestamptz[], $7::text[])
         AS v (id, file_id, version, cursor, at, hash)
     ), stored AS (
       INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
       SELECT $1, id, 'live', 'inline', ${SIZE}, hash, id::text::bytea, at FROM v
     )
     INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, change_cursor, created_at)
     SELECT $1, id, file_id, version, id, hash, ${SIZE}, cursor, at FROM v`,
    [
      workspaceId,
      ...columns(versions, ['id', 'fileId', 'version', 'changeCursor', 'createdAt', 'contentHash']),
    ],
  );
  await query(
    `INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at)
     SELECT $1, cursor, file_id, f.encrypted_path, action, hash, ${SIZE}, c.version, now()
     FROM unnest($2::bigint[], $3::uuid[], $4::text[], $5::int[], $6::text[]) AS c (cursor, file_id, action, version, hash)
     JOIN files f ON f.workspace_id = $1 AND f.id = c.file_id`,
    [workspaceId, ...columns(changes, ['cursor', 'fileId', 'action', 'version', 'contentHash'])],
  );
  await query(
    `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
     SELECT $1, gen_random_uuid(), 'bGFiZWw', 'manual', cursor, now() FROM unnest($2::bigint[]) AS cursor`,
    [workspaceId, checkpoints],
  );
  return { workspaceId, versions };
}

/** The ids of all remaining versions. */
export async function remainingVersions(query: Query): Promise<Set<string>> {
  return new Set((await query<{ id: string }>('SELECT id FROM versions')).map(({ id }) => id));
}

/** Bytes of a version's id. */
const SIZE = 36;

interface FileState {
  readonly id: string;
  readonly path: number;
  version: number;
  isDeleted: boolean;
  contentHash: string;
}

interface ChangeRow {
  readonly cursor: number;
  readonly fileId: string;
  readonly action: string;
  readonly version: number;
  readonly contentHash: string;
}

interface VersionRow extends WrittenVersion {
  readonly version: number;
  readonly contentHash: string;
}

interface Rows {
  readonly files: FileState[];
  readonly versions: VersionRow[];
  readonly changes: ChangeRow[];
}

function rowsOf(operations: readonly LoggedOperation[], checkpoints: readonly number[]): Rows {
  const files = new Map<number, FileState>();
  const changes: ChangeRow[] = [];
  const made: (Omit<VersionRow, 'isCurrent' | 'isPinned'> & { readonly cursor: number })[] = [];
  for (const [index, { file: path, action, at, isLegacy }] of operations.entries()) {
    const cursor = index + 1;
    const file = files.get(path) ?? { id: randomUUID(), path, version: 0, isDeleted: false, contentHash: '' };
    files.set(path, file);
    file.isDeleted = action === 'delete';
    if (action === 'upsert') {
      const id = randomUUID();
      file.version++;
      file.contentHash = sha256(id);
      const { version, contentHash } = file;
      const changeCursor = isLegacy ? null : cursor;
      made.push({ id, fileId: file.id, version, contentHash, createdAt: at, changeCursor, cursor });
    }
    const { id: fileId, version, contentHash } = file;
    changes.push({ cursor, fileId, action, version, contentHash });
  }
  const newest = new Map([...files.values()].map(({ id, version }) => [id, version]));
  const versions = made.map(({ cursor, ...version }) => ({
    ...version,
    isCurrent: newest.get(version.fileId) === version.version,
    isPinned: checkpoints.some((mark) => lastUntil(changes, version.fileId, mark)?.cursor === cursor),
  }));
  return { files: [...files.values()], versions, changes };
}

/** The last change of a file at or before a cursor. */
function lastUntil(changes: readonly ChangeRow[], fileId: string, cursor: number): ChangeRow | undefined {
  return changes.findLast((change) => change.fileId === fileId && change.cursor <= cursor);
}

function columns<Row extends object>(rows: readonly Row[], names: readonly (keyof Row)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}
