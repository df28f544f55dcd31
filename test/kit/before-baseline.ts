import { readFileSync } from 'node:fs';
import type { QueryRunner } from 'typeorm';
import { baseline, migrations, REPLACED_MIGRATIONS } from '../../src/platform/database/migrations/index.js';
import type { TestDatabase } from './database.js';

type Query = Pick<TestDatabase, 'query'>;

/** Only their signatures matter: nothing calls them any more. */
const OBSOLETE = `
  CREATE FUNCTION put_document(p_workspace uuid, p_path text) RETURNS text LANGUAGE sql AS 'SELECT $2';
  CREATE FUNCTION put_file(p_workspace uuid, p_path text) RETURNS text LANGUAGE sql AS 'SELECT put_document($1, $2)';
  CREATE FUNCTION put_files(p_workspace uuid, p_path text[]) RETURNS text[] LANGUAGE sql AS 'SELECT $2'`;

/** The upload functions of the version before the baseline. */
export const FUNCTIONS_BEFORE = {
  main: 'put_documents',
  template: readFileSync(new URL('./put-documents-before.sql', import.meta.url), 'utf8'),
};

/** Downgrades a migrated database to the version before the baseline, keeping its data. */
export async function makeAsBeforeBaseline({ query }: Query): Promise<void> {
  const applied = (await query<{ name: string }>('SELECT name FROM migrations')).map(({ name }) => name);
  for (const Migration of migrations.slice(baseline.length).reverse())
    if (applied.includes(Migration.name)) await new Migration().down({ query } as unknown as QueryRunner);
  await query(FUNCTIONS_BEFORE.template);
  await query('COMMENT ON FUNCTION put_documents IS NULL');
  await query(OBSOLETE);
  await query('DELETE FROM migrations');
  await noteMigrations({ query }, REPLACED_MIGRATIONS);
}

/** Records these migrations as applied. */
export async function noteMigrations({ query }: Query, names: readonly string[]): Promise<void> {
  for (const name of names)
    await query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [name.slice(-13), name]);
}

/** A page of the log as instances of the previous version read it. $1: the workspace. */
export const PULL_BEFORE = `
  SELECT string_agg(encrypted_path || ' ' || action, ',' ORDER BY cursor) AS items
  FROM (
    SELECT c.*, (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id) AS encrypted_path
    FROM changes c WHERE c.workspace_id = $1 AND c.cursor > 0 ORDER BY c.cursor LIMIT 100
  ) rows`;

/** Deletion and restoration of one file as instances of the version before the baseline write them; without a lock. */
export const WRITES_BEFORE = {
  /** $1: the workspace, $2: the file. */
  delete: `
    WITH head AS (
      UPDATE workspaces SET head_cursor = head_cursor + 1, live_files = live_files - 1 WHERE id = $1 RETURNING head_cursor
    ), logged AS (
      INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
      SELECT $1, head_cursor, f.id, 'delete', f.content_hash, f.encrypted_size, f.version, now(), 'device'
      FROM head, files f WHERE f.workspace_id = $1 AND f.id = $2
    )
    UPDATE files SET is_deleted = true, updated_at = now() WHERE workspace_id = $1 AND id = $2`,

  /** $1: the workspace, $2: the file, $3: the number of the version. */
  restore: `
    WITH source AS (
      SELECT f.id AS file_id, f.version + 1 AS version, f.is_deleted, v.blob_id, v.content_hash, v.encrypted_size
      FROM files f JOIN versions v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
      WHERE f.workspace_id = $1 AND f.id = $2 AND v.version = $3
    ), head AS (
      UPDATE workspaces w SET head_cursor = w.head_cursor + 1, live_files = w.live_files + source.is_deleted::int
      FROM source WHERE w.id = $1 RETURNING w.head_cursor AS cursor
    ), minted AS (
      INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
      SELECT $1, gen_random_uuid(), file_id, version, blob_id, content_hash, encrypted_size, 'device', head.cursor, now() FROM source, head
    ), logged AS (
      INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
      SELECT $1, head.cursor, file_id, 'upsert', content_hash, encrypted_size, version, now(), 'device' FROM source, head
    )
    UPDATE files f
    SET content_hash = source.content_hash, encrypted_size = source.encrypted_size, version = source.version,
        is_deleted = false, updated_at = now()
    FROM source WHERE f.workspace_id = $1 AND f.id = source.file_id`,
};
