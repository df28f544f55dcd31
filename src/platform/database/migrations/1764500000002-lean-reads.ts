import type { MigrationInterface, QueryRunner } from 'typeorm';
import { BEFORE_ALL_IDS, pagesById } from '../in-batches.js';
import { NO_BLOB } from './1764500000001-lean-columns.js';
import { underTableLocks } from './table-locks.js';

/** Rows filled per transaction, which holds the lock of a workspace for no longer than a large upload does. */
const PAGE = 1000;

/** Foreign keys to drop: the statement that writes such a row already holds the row that it refers to. */
const KEYS = [
  ['blobs', 'blobs_workspace_id_fkey', '(workspace_id) REFERENCES workspaces (id)'],
  ['files', 'files_workspace_id_fkey', '(workspace_id) REFERENCES workspaces (id)'],
  [
    'versions',
    'versions_workspace_id_blob_id_fkey',
    '(workspace_id, blob_id) REFERENCES blobs (workspace_id, id)',
  ],
  [
    'versions',
    'versions_workspace_id_file_id_fkey',
    '(workspace_id, file_id) REFERENCES files (workspace_id, id)',
  ],
  [
    'changes',
    'changes_workspace_id_file_id_fkey',
    '(workspace_id, file_id) REFERENCES files (workspace_id, id)',
  ],
] as const;

const WRITTEN = ['workspaces', 'blobs', 'files', 'versions', 'changes'];

/**
 * Fills the columns of the previous migration for existing rows, in pages, each in its own transaction; a run that was ended by a
 * crash is repeated. Then makes them NOT NULL, and drops the foreign keys among the rows that an upload writes.
 */
export class LeanReads1764500000002 implements MigrationInterface {
  readonly name = 'LeanReads1764500000002';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(BY_KEY.map(([name, value]) => `SET ${name} = ${value}`).join('; '));
    await fill(runner);
    await runner.query(BY_KEY.map(([name]) => `RESET ${name}`).join('; '));
    await requireValue(runner, 'files', 'blob_id');
    await requireValue(runner, 'changes', 'path');
    await alter(
      runner,
      WRITTEN,
      KEYS.map(([table, name]) => `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name}`),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE files ALTER COLUMN blob_id DROP NOT NULL');
    await runner.query('ALTER TABLE changes ALTER COLUMN path DROP NOT NULL');
    for (const [table, name, key] of KEYS)
      await runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} FOREIGN KEY ${key}`);
  }
}

/**
 * Makes each page use its key regardless of the statistics, and not wait for the disk: the commit that records this migration
 * waits for all of them.
 */
const BY_KEY = [
  ...['sort', 'bitmapscan', 'seqscan'].map((plan) => [`enable_${plan}`, 'off']),
  ['jit', 'off'],
  ['synchronous_commit', 'off'],
] as const;

/** All writers of heads take this lock, which orders the log. */
const LOCK = 'SELECT id FROM workspaces WHERE id = $1 FOR NO KEY UPDATE';

interface Fill {
  /** $1: the workspace, $2: the last key of the previous page. */
  readonly lastOfPage: string;
  /** Also $3: the last key of the page. A join could compare each row of the workspace with each row of the page. */
  readonly page: string;
}

const BLOB_OF_HEAD = `coalesce(
  (SELECT v.blob_id FROM versions v WHERE v.workspace_id = $1 AND v.file_id = f.id AND v.version = f.version), '${NO_BLOB}')`;

/** A head without its version is left to the doctor, or to the purge of a deleted workspace. */
const FILES: Fill = {
  lastOfPage: `SELECT max(id::text) AS last FROM (
    SELECT id FROM files WHERE workspace_id = $1 AND id > $2 ORDER BY workspace_id, id LIMIT ${PAGE}) page`,
  page: `UPDATE files f SET blob_id = ${BLOB_OF_HEAD}
    WHERE f.workspace_id = $1 AND f.id > $2 AND f.id <= $3 AND f.blob_id IS DISTINCT FROM ${BLOB_OF_HEAD}`,
};

const CHANGES: Fill = {
  lastOfPage: `SELECT max(cursor) AS last FROM (
    SELECT cursor FROM changes WHERE workspace_id = $1 AND cursor > $2 ORDER BY workspace_id, cursor LIMIT ${PAGE}) page`,
  page: `UPDATE changes c
    SET path = (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id)
    WHERE c.workspace_id = $1 AND c.cursor > $2 AND c.cursor <= $3 AND c.path IS NULL`,
};

async function fill(runner: QueryRunner): Promise<void> {
  const sql = `SELECT id FROM workspaces WHERE id > $1 ORDER BY id LIMIT ${PAGE}`;
  const workspaces = pagesById(
    BEFORE_ALL_IDS,
    PAGE,
    (above) => runner.query(sql, [above]) as Promise<{ id: string }[]>,
  );
  for await (const page of workspaces)
    for (const { id } of page) {
      await fillPages(runner, FILES, id, BEFORE_ALL_IDS);
      await fillPages(runner, CHANGES, id, 0);
    }
}

async function fillPages(
  runner: QueryRunner,
  { lastOfPage, page }: Fill,
  workspaceId: string,
  first: string | number,
): Promise<void> {
  for (let above = first; ;) {
    const [found] = (await runner.query(lastOfPage, [workspaceId, above])) as {
      last: string | number | null;
    }[];
    const last = found?.last ?? null;
    if (last === null) return;
    await inTransaction(runner, async () => {
      await runner.query(LOCK, [workspaceId]);
      await runner.query(page, [workspaceId, above, last]);
    });
    above = last;
  }
}

/** Sets NOT NULL without scanning the table under an exclusive lock. */
async function requireValue(runner: QueryRunner, table: string, column: string): Promise<void> {
  const name = `${table}_${column}_present`;
  await alter(
    runner,
    [table],
    [
      `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name}`,
      `ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${column} IS NOT NULL) NOT VALID`,
    ],
  );
  await runner.query(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${name}`);
  await alter(
    runner,
    [table],
    [
      `ALTER TABLE ${table} ALTER COLUMN ${column} SET NOT NULL`,
      `ALTER TABLE ${table} DROP CONSTRAINT ${name}`,
    ],
  );
}

async function alter(
  runner: QueryRunner,
  tables: readonly string[],
  statements: readonly string[],
): Promise<void> {
  await inTransaction(runner, async () => {
    await underTableLocks(runner, tables);
    for (const sql of statements) await runner.query(sql);
  });
}

async function inTransaction(runner: QueryRunner, work: () => Promise<void>): Promise<void> {
  await runner.query('BEGIN');
  try {
    await work();
    await runner.query('COMMIT');
  } catch (error) {
    await runner.query('ROLLBACK').catch(() => undefined); // a lost connection has rolled back already
    throw error;
  }
}
