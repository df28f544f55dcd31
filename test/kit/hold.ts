import pg from 'pg';
import type { TestDatabase } from './database.js';

/** A lock that is held until it is released. */
export interface Held {
  /** Resolves when this many connections of the database wait for a lock. */
  waiting(connections: number): Promise<void>;
  release(): Promise<void>;
}

export function holdRow(database: TestDatabase, table: string, column: string, id: string): Promise<Held> {
  return hold(database, `SELECT FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [id]);
}

/** Blocks the table, even for reads, until it is released. */
export function holdTable(database: TestDatabase, table: string): Promise<Held> {
  return hold(database, `LOCK TABLE ${table}`);
}

async function hold(database: TestDatabase, lock: string, parameters: string[] = []): Promise<Held> {
  const holder = new pg.Client({ connectionString: database.url });
  holder.on('error', () => undefined); // after a failed test, it ends with the database
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(lock, parameters);
  return {
    waiting: async (connections) => {
      try {
        await database.eventually(
          `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
           HAVING count(*) = ${connections}`,
        );
      } catch (error) {
        await holder.end(); // the following tests must not wait for it too
        throw error;
      }
    },
    release: () => holder.end(),
  };
}

/** Runs a statement in a transaction that stays open. @returns a function that commits it */
export async function heldOpen(
  database: TestDatabase,
  sql: string,
  values: unknown[],
): Promise<() => Promise<void>> {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('BEGIN');
  await client.query(sql, values);
  return async () => {
    await client.query('COMMIT');
    await client.end();
  };
}
