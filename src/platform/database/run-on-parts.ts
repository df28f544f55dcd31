import type { Database } from './database.js';
import type { Parameter, Statement } from './statement.js';

/** The rows of all parts, one part after the other. An order or a limit in the statement is that of each part. */
export async function runOnParts<Row>(
  database: Database,
  statement: Statement,
  values: readonly Parameter[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const part of await database.parts()) rows.push(...(await part.run<Row>(statement, values)));
  return rows;
}
