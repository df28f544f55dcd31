import { createHash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { insertLargeLog, type RunSql } from '../large-log.js';
import { fillVaults, type Upload, type Vaults } from './vaults.js';

/** The hostile account's data when the storm begins. Written into the tables, because rate limits would make it take an hour. */
export interface Possessions {
  /** A workspace with 30,000 files, and a checkpoint of it. */
  readonly large: { readonly workspaceId: string; readonly checkpointId: string };
  readonly vaults: Vaults;
  /** A workspace with files whose paths have the maximum length. */
  readonly wide: { readonly workspaceId: string; readonly files: number };
  /** Workspaces to delete. */
  readonly doomed: string[];
  /** Workspaces to upload to. */
  readonly many: string[];
}

/** Large enough to count as a large log. */
const ARCHIVE = { files: 600, changes: 1_200 };
const LARGE = { files: 30_000, changes: 60_000 };
const VAULTS = 4;
const WIDE_FILES = 4_000;
const [DOOMED, FILES_OF_DOOMED] = [120, 40];
const MANY = 100;
/** As many workspaces as an account may have, and as many revoked tokens as four days of minting leave. */
const [MOST_WORKSPACES, REVOKED_TOKENS] = [1_000, 60_000];
const SPARE = 'nothing in it';
const EMPTY = createHash('sha256').update('').digest('hex');

/** Writes the log of an ordinary user's old workspace. */
export async function fillArchive(database: pg.Client, workspaceId: string): Promise<void> {
  await insertLargeLog((sql, values) => database.query(sql, values), workspaceId, ARCHIVE);
}

/** Writes everything the first time; later only the data that a storm uses up. */
export async function fill(
  database: pg.Client,
  userId: string,
  upload: Upload,
  before?: Possessions,
): Promise<Possessions> {
  const run: RunSql = (sql, values) => database.query(sql, values);
  const made = (count: number): Promise<string[]> => makeWorkspaces(database, userId, count);
  const [wide = ''] = await made(1);
  await insertAlike(database, [wide], WIDE_FILES, `lpad(n::text, 4096, 'w')`);
  const doomed = await made(DOOMED);
  await insertAlike(database, doomed, FILES_OF_DOOMED, `'doomed-' || n`);
  const kept = before ?? (await fillOnce(run, userId, upload, made));
  await topUp(database, userId);
  await database.query('ANALYZE workspaces, files, versions, changes, blobs, access_tokens');
  return { ...kept, wide: { workspaceId: wide, files: WIDE_FILES }, doomed };
}

async function fillOnce(
  run: RunSql,
  userId: string,
  upload: Upload,
  made: (count: number) => Promise<string[]>,
): Promise<Pick<Possessions, 'large' | 'vaults' | 'many'>> {
  const [large = ''] = await made(1);
  const checkpointId = randomUUID();
  await insertLargeLog(run, large, LARGE);
  await run(
    `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at) VALUES ($1, $2, 'bGFiZWw', 'manual', $3, now())`,
    [large, checkpointId, LARGE.files],
  );
  await run(
    `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, created_at, revoked_at)
     SELECT gen_random_uuid(), $1, 'one of many tokens', sha256(gen_random_uuid()::text::bytea), '{full}', now(), now()
     FROM generate_series(1, $2::int)`,
    [userId, REVOKED_TOKENS],
  );
  const vaults = await fillVaults(run, upload, await made(VAULTS));
  return { large: { workspaceId: large, checkpointId }, vaults, many: await made(MANY) };
}

async function makeWorkspaces(
  database: pg.Client,
  userId: string,
  count: number,
  name = 'one of many',
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await database.query(
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) SELECT unnest($2::uuid[]), $1, $3, now(), now()`,
    [userId, ids, name],
  );
  return ids;
}

/** Adds or removes empty workspaces until the account is at its limit. */
async function topUp(database: pg.Client, userId: string): Promise<void> {
  const { rows } = await database.query<{ count: string }>(
    'SELECT count(*) FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL',
    [userId],
  );
  const missing = MOST_WORKSPACES - Number(rows[0]?.count);
  await makeWorkspaces(database, userId, Math.max(0, missing), SPARE);
  await database.query(
    'DELETE FROM workspaces WHERE id IN (SELECT id FROM workspaces WHERE user_id = $1 AND name = $2 LIMIT $3)',
    [userId, SPARE, Math.max(0, -missing)],
  );
}

/** Inserts `files` empty files into each workspace, as if they were uploaded. @param path SQL over the number `n` */
async function insertAlike(
  database: pg.Client,
  workspaceIds: string[],
  files: number,
  path: string,
): Promise<void> {
  await database.query(
    `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
     SELECT w, w, 'live', 'inline', 0, $2, '', now() FROM unnest($1::uuid[]) AS w`,
    [workspaceIds, EMPTY],
  );
  await database.query(
    `WITH rows AS (
       SELECT w, gen_random_uuid() AS file, n, ${path} AS path
       FROM unnest($1::uuid[]) AS w, generate_series(1, $3::int) AS n
     ), f AS (
       INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at)
       SELECT w, file, path, w, $2, 0, 1, now(), now() FROM rows
     ), v AS (
       INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, change_cursor, created_at)
       SELECT w, gen_random_uuid(), file, 1, w, $2, 0, n, now() FROM rows
     )
     INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at)
     SELECT w, n, file, path, 'upsert', $2, 0, 1, now() FROM rows`,
    [workspaceIds, EMPTY, files],
  );
  await database.query(
    'UPDATE workspaces SET head_cursor = $2, live_files = $2 WHERE id = ANY ($1::uuid[])',
    [workspaceIds, files],
  );
}
