import type pg from 'pg';
import type { Parameter, Statement } from './statement.js';

/** A text of a statement, and the name under which connections prepare it. */
export type Text = Pick<Statement, 'name' | 'text' | 'isBinary'>;

/** Runs a prepared statement on a connection, or on any of a pool. */
export async function execute<Row>(
  on: Pick<pg.ClientBase, 'query'>,
  { name, text, isBinary }: Text,
  values: readonly Parameter[],
): Promise<Row[]> {
  const query = { name, text, values: [...values], binary: isBinary };
  return (await on.query(query as pg.QueryConfig)).rows as Row[];
}
