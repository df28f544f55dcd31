import type pg from 'pg';
import { OperatorError } from '../config/index.js';
import { SCHEMA_OID } from '../platform/database/index.js';

export interface Table {
  readonly name: string;
  /** Without those that the database computes. */
  readonly columns: readonly string[];
}

/**
 * What a backup has no use for: what is of this moment or of this machine, and what would let somebody in who has been shut
 * out since: sessions, one-time tokens, key sessions.
 */
const LEFT_OUT = [
  'auth_sessions',
  'auth_verifications',
  'key_sessions',
  'instances',
  'presence',
  'rate_limits',
  'wrong_passwords',
  'kill_switch',
  'blob_leftovers',
  'blob_stores',
  'migrations',
];

/** Bytes of uploads under way are nobody's yet. */
export const ROWS: Readonly<Record<string, string>> = { blobs: "state <> 'staged'" };

/** The name of `SCHEMA_OID`. */
export const SCHEMA = `(SELECT nspname FROM pg_namespace WHERE oid = ${SCHEMA_OID})`;

/** All tables of a backup, each after those that it refers to. @throws OperatorError where they are not: it would keep nothing */
export async function tablesInOrder(client: pg.ClientBase): Promise<Table[]> {
  const { rows: tables } = await client.query<Table>(
    `SELECT table_name AS name, array_agg(quote_ident(column_name) ORDER BY ordinal_position) AS columns
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = ${SCHEMA} AND table_type = 'BASE TABLE' AND is_generated = 'NEVER' AND table_name <> ALL ($1)
     GROUP BY 1 ORDER BY 1`,
    [LEFT_OUT],
  );
  const { rows: references } = await client.query<{ from: string; to: string }>(
    `SELECT conrelid::regclass::text AS "from", confrelid::regclass::text AS "to" FROM pg_constraint
     WHERE contype = 'f' AND connamespace = ${SCHEMA_OID} AND conrelid <> confrelid`,
  );
  const ordered = new Set<string>();
  const visit = (name: string): void => {
    if (ordered.has(name)) return;
    for (const { from, to } of references) if (from === name) visit(to);
    ordered.add(name);
  };
  for (const { name } of tables) visit(name);
  if (ordered.size === 0)
    throw new OperatorError('There are no tables of the service in the schemas of its role.');
  const byName = new Map(tables.map((table) => [table.name, table]));
  return [...ordered].flatMap((name) => byName.get(name) ?? []);
}
