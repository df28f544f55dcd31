import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { filled } from './statement.js';

/** Functions of the database whose only text is in a file of this version, rather than in migrations. */
export interface StoredFunctions {
  /** The name of one of them; its comment in the database is the hash of the text from which they were created. */
  readonly main: string;
  /**
   * `CREATE OR REPLACE FUNCTION` for each, without parameters or columns that an earlier version does not know. Names are in braces
   * as in statements; `{hold_shard}` stands where the function has to hold its shard, if any.
   */
  readonly template: string;
}

export const STORED_FUNCTIONS = Symbol('STORED_FUNCTIONS');

/**
 * Creates or replaces the functions of which the database has another text, or none. It leaves the same text alone: replacing it would
 * need all nodes of an engine at each start. Only one instance may do so at a time.
 */
export async function loadFunctions(
  dataSource: DataSource,
  functions: readonly StoredFunctions[],
): Promise<void> {
  for (const { main, template } of functions) {
    const sql = filled(template, (name) => (name === 'hold_shard' ? '' : name));
    const hash = createHash('sha256').update(sql).digest('hex');
    const [found] = await dataSource.query<{ hash: string | null }[]>(
      `SELECT obj_description(to_regproc($1), 'pg_proc') AS hash`,
      [main],
    );
    if (found?.hash === hash) continue;
    await dataSource.transaction(async (tx) => {
      await tx.query(sql);
      await tx.query(`COMMENT ON FUNCTION ${main} IS '${hash}'`);
    });
  }
}
