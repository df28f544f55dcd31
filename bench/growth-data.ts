import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { insertLargeLog } from './large-log.js';

/** The amount of data in a deployment. */
export interface Size {
  /** Workspaces with a single file of two versions, in addition to the one with the log. */
  readonly workspaces: number;
  /** Changes in the log, ten per file, each with its own version and blob. */
  readonly changes: number;
  /** Changes of one file, in a separate workspace; all but the first by the device `one`. */
  readonly changesOfFile: number;
}

/** The workspaces that are measured. */
export interface Places {
  readonly log: string;
  readonly file: string;
}

const VERSIONS_OF_EACH = 10;

/** Writes rows as if uploads had created them. Retention finds nothing to delete in them. */
export async function fill(databaseUrl: string, places: Places, size: Size): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // The rows satisfy the foreign keys; checking them millions of times takes minutes.
    await client.query('SET session_replication_role = replica');
    const run = (sql: string, values: unknown[]): Promise<unknown> => client.query(sql, values);
    await insertLargeLog(run, places.log, {
      files: size.changes / VERSIONS_OF_EACH,
      changes: size.changes,
    });
    await run(BLOB_OF_EACH_VERSION, [places.log]);
    await run(A_WEEK_APART, [places.log, VERSIONS_OF_EACH]);
    await insertLargeLog(run, places.file, { files: 1, changes: size.changesOfFile });
    await run(A_WEEK_APART, [places.file, size.changesOfFile]);
    await run(BY_ONE_DEVICE, [places.file]);
    await fillSmall(run, places.log, size.workspaces);
    await client.query('VACUUM (ANALYZE) workspaces, files, changes, versions, blobs');
  } finally {
    await client.end();
  }
}

/** Inserts a checkpoint at the head of a log and returns its id. */
export async function checkpointAtHead(databaseUrl: string, workspaceId: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const id = randomUUID();
  try {
    await client.query(CHECKPOINT, [workspaceId, id]);
    return id;
  } finally {
    await client.end();
  }
}

async function fillSmall(
  run: (sql: string, values: unknown[]) => Promise<unknown>,
  model: string,
  count: number,
): Promise<void> {
  for (const sql of [WORKSPACES, FILES, BLOBS, VERSIONS, CHANGES]) await run(sql, [model, count]);
}

/** Replaces the empty blob that all versions share. */
const BLOB_OF_EACH_VERSION = `
  WITH own AS (
    INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
    SELECT workspace_id, id, 'live', 'inline', 64, encode(sha256(id::text::bytea), 'hex'), repeat('x', 64)::bytea, created_at
    FROM versions WHERE workspace_id = $1 ORDER BY id
  ), shared AS (
    DELETE FROM blobs WHERE workspace_id = $1 AND id = $1
  )
  UPDATE versions SET blob_id = id WHERE workspace_id = $1`;

/** No two versions of a file are from the same week. */
const A_WEEK_APART = `
  UPDATE versions SET created_at = now() - ($2 - version) * interval '8 days' WHERE workspace_id = $1`;

const BY_ONE_DEVICE = `
  UPDATE changes SET changed_by_device = CASE WHEN cursor = 1 THEN 'zero' ELSE 'one' END WHERE workspace_id = $1`;

const CHECKPOINT = `
  INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
  SELECT $1, $2, 'bGFiZWw', 'manual', head_cursor, now() FROM workspaces WHERE id = $1`;

/** Derived from the number, so that all tables have the same ids. */
const ID = `md5('growth ' || n)::uuid`;
const VERSION_ID = `md5('growth ' || n || ' ' || turn)::uuid`;
const HASH = `repeat('0', 64)`;

const WORKSPACES = `
  INSERT INTO workspaces (id, user_id, name, head_cursor, live_files, created_at, updated_at)
  SELECT ${ID}, user_id, 'growth', 2, 1, now(), now() FROM workspaces, generate_series(1, $2::int) AS n WHERE id = $1`;

const FILES = `
  INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at)
  SELECT ${ID}, ${ID}, 'file', ${VERSION_ID}, ${HASH}, 64, 2, now(), now()
  FROM generate_series(1, $2::int) AS n, (SELECT 2) AS last (turn) WHERE $1::uuid IS NOT NULL`;

const BLOBS = `
  INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
  SELECT ${ID}, ${VERSION_ID}, 'live', 'inline', 64, ${HASH}, repeat('x', 64)::bytea, now()
  FROM generate_series(1, $2::int) AS n, generate_series(1, 2) AS turn WHERE $1::uuid IS NOT NULL`;

const VERSIONS = `
  INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, change_cursor, created_at)
  SELECT ${ID}, ${VERSION_ID}, ${ID}, turn, ${VERSION_ID}, ${HASH}, 64, turn, now() - (2 - turn) * interval '8 days'
  FROM generate_series(1, $2::int) AS n, generate_series(1, 2) AS turn WHERE $1::uuid IS NOT NULL`;

const CHANGES = `
  INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at)
  SELECT ${ID}, turn, ${ID}, 'file', 'upsert', ${HASH}, 64, turn, now() - (2 - turn) * interval '8 days'
  FROM generate_series(1, $2::int) AS n, generate_series(1, 2) AS turn WHERE $1::uuid IS NOT NULL`;
