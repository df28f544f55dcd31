import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { OperatorError, writeDurably } from '../config/index.js';
import { HashedBody } from '../storage/index.js';
import { compressed } from './compressed.js';
import { asDamaged } from './faults.js';
import type { TableFile } from './manifest.js';
import { ROWS, SCHEMA, type Table } from './tables.js';

/** Ciphertext in hexadecimal: a higher level costs time and gives nothing. */
const LEVEL = 1;

const fileOf = (directory: string, name: string): string => join(directory, 'tables', `${name}.copy.gz`);

/** Writes one table of the client's snapshot. */
export async function exportTable(
  client: pg.ClientBase,
  directory: string,
  { name, columns }: Table,
): Promise<TableFile> {
  const rows = ROWS[name] ? ` WHERE ${ROWS[name]}` : '';
  const copy = client.query(copyTo(`COPY (SELECT ${columns.join(', ')} FROM ${name}${rows}) TO STDOUT`));
  const body = new HashedBody(compressed(copy, LEVEL));
  await writeDurably(fileOf(directory, name), body);
  return { name, columns, rows: copy.rowCount, sha256: body.sha256() };
}

/** Fills one table. @throws OperatorError when the file is not the one that was written; the transaction is to be given up */
export async function importTable(client: pg.ClientBase, directory: string, table: TableFile): Promise<void> {
  const { name, columns, rows, sha256 } = table;
  const hash = createHash('sha256');
  const copy = client.query(copyFrom(`COPY ${name} (${columns.join(', ')}) FROM STDIN`));
  try {
    const file = createReadStream(fileOf(directory, name)).on('data', (chunk) => hash.update(chunk));
    await pipeline(file, createGunzip(), copy);
  } catch (error) {
    throw asDamaged(`table ${name}`, error);
  }
  if (hash.digest('hex') !== sha256 || copy.rowCount !== rows)
    throw new OperatorError(`The backup's table ${name} is damaged: it is not what was written.`);
}

/** What the identity columns give next comes after what is there. */
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
