import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { OperatorError } from '../../platform/config/index.js';
import { SCHEMA_OID } from '../../platform/database/index.js';
import { HashedBody } from '../../platform/storage/index.js';
import { asDamaged, type BackupParts, compressed, type TableFile } from './backup-parts.js';

interface Table {
  readonly name: string;
  /** Excludes generated columns. */
  readonly columns: readonly string[];
}

/**
 * Tables that are left out: transient state and state of the machine; credentials that would readmit a user who has been locked
 * out since (sessions, one-time tokens, key sessions, invitations, and JWT keys, which the service creates again); mails, which
 * must not be sent again; and what a database on several nodes creates again. The name of a dropped table stays, because backups
 * of earlier versions are restored too.
 */
const LEFT_OUT = [
  'auth_jwks',
  'auth_sessions',
  'auth_verifications',
  'ended_sessions',
  'key_sessions',
  'instances',
  'presence',
  'rate_limits',
  'wrong_passwords',
  'mail_queue',
  'mail_links',
  'kill_switch',
  'doctor_runs',
  'invitations',
  'blob_leftovers',
  'blob_stores',
  'database_identity',
  'migrations',
  'workspace_catalogue',
  'owed_deletions',
  'owed_unsubscriptions',
  'shared_commits',
];

export const isLeftOut = (table: string): boolean => LEFT_OUT.includes(table);

/**
 * Leaves out blobs of uploads in progress, to which nothing refers yet, and tokens of purged workspaces, which no foreign key
 * removes where workspaces are on nodes.
 */
const ROWS: Readonly<Record<string, string>> = {
  blobs: "state <> 'staged'",
  access_tokens: 'workspace_id IS NULL OR workspace_id IN (SELECT id FROM workspaces)',
};

/**
 * Where workspaces are on nodes, no foreign key protects their owner: a node that crashes during the deletion of an account can
 * leave a workspace without one. The backup has it as deleted, because the database that it is restored into has the foreign key.
 */
const WITHOUT_OWNER: Readonly<Record<string, string>> = {
  user_id: 'owner',
  deleted_at: 'CASE WHEN owner IS NULL THEN coalesce(deleted_at, now()) ELSE deleted_at END',
};
const JOINS: Readonly<Record<string, string>> = {
  workspaces: 'LEFT JOIN (SELECT id AS owner FROM users) u ON owner = user_id',
};

/** The name of `SCHEMA_OID`. */
const SCHEMA = `(SELECT nspname FROM pg_namespace WHERE oid = ${SCHEMA_OID})`;

/**
 * All tables of a backup, each after the tables that it references; the rows of a partition are those of its table.
 * @throws OperatorError when there are none: the backup would be empty
 */
export async function tablesInOrder(client: pg.ClientBase): Promise<Table[]> {
  const { rows: tables } = await client.query<Table>(
    `SELECT table_name AS name, array_agg(quote_ident(column_name) ORDER BY ordinal_position) AS columns
     FROM information_schema.columns JOIN pg_class ON relname = table_name AND relnamespace = ${SCHEMA_OID}
     WHERE table_schema = ${SCHEMA} AND relkind IN ('r', 'p') AND NOT relispartition AND is_generated = 'NEVER'
       AND table_name <> ALL ($1)
     GROUP BY 1 ORDER BY 1`,
    [LEFT_OUT],
  );
  const { rows: references } = await client.query<{ from: string; to: string }>(
    `SELECT conrelid::regclass::text AS "from", confrelid::regclass::text AS "to" FROM pg_constraint
     WHERE contype = 'f' AND connamespace = ${SCHEMA_OID} AND conrelid <> confrelid AND conparentid = 0`,
  );
  const ordered = new Set<string>();
  const visit = (name: string): void => {
    if (ordered.has(name)) return;
    for (const { from, to } of references) if (from === name) visit(to);
    ordered.add(name);
  };
  for (const { name } of tables) visit(name);
  if (ordered.size === 0)
    throw new OperatorError('The schemas of the database role contain no tables of the service.');
  const byName = new Map(tables.map((table) => [table.name, table]));
  return [...ordered].flatMap((name) => byName.get(name) ?? []);
}

/** The rows are ciphertext in hex: a higher level costs time and gains nothing. */
const LEVEL = 1;

const pathOf = (name: string): string => `tables/${name}.copy.gz`;

/** Writes one table of the client's snapshot. */
export async function exportTable(
  client: pg.ClientBase,
  parts: BackupParts,
  { name, columns }: Table,
): Promise<TableFile> {
  const from = [name, JOINS[name], ROWS[name] && `WHERE ${ROWS[name]}`].filter(Boolean).join(' ');
  const values = columns.map((column) => (JOINS[name] ? WITHOUT_OWNER[column] : undefined) ?? column);
  const copy = client.query(copyTo(`COPY (SELECT ${values.join(', ')} FROM ${from}) TO STDOUT`));
  const body = new HashedBody(compressed(copy, LEVEL));
  await parts.write(pathOf(name), body);
  return { name, columns, rows: copy.rowCount, sha256: body.sha256() };
}

/** Fills one table. @throws OperatorError when the file differs from what was written; roll back the transaction then */
export async function importTable(
  client: pg.ClientBase,
  parts: BackupParts,
  table: TableFile,
): Promise<void> {
  const { name, columns, rows, sha256 } = table;
  const body = new HashedBody(parts.read(pathOf(name)));
  const copy = client.query(copyFrom(`COPY ${name} (${columns.join(', ')}) FROM STDIN`));
  try {
    await pipeline(body, createGunzip(), copy);
  } catch (error) {
    throw asDamaged(`table ${name}`, error);
  }
  if (body.sha256() !== sha256 || copy.rowCount !== rows)
    throw new OperatorError(
      `The backup's table ${name} is damaged: its checksum or row count does not match.`,
    );
}

/** Advances the identity columns beyond the existing rows. */
export async function advanceIdentities(client: pg.ClientBase, tables: readonly Table[]): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
     WHERE table_schema = ${SCHEMA} AND table_name = ANY ($1) AND pg_get_serial_sequence(table_name, column_name) IS NOT NULL`,
    [tables.map(({ name }) => name)],
  );
  for (const { table, column } of rows) {
    await client.query(
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), max(${column})) FROM ${table} HAVING max(${column}) > 0`,
    );
  }
}
