import pg from 'pg';
import type { TestDatabase } from './database.js';

/** A lock that nobody else can take until it is released. */
export interface Held {
  /** Resolves when this many connections wait for a lock, on this or on one that somebody holds who waits for it. */
  waiting(connections: number): Promise<void>;
  release(): Promise<void>;
}

export function holdRow(database: TestDatabase, table: string, column: string, id: string): Promise<Held> {
  return hold(database, `SELECT FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [id]);
}

/** Nobody else can read the table until it is released. */
export function holdTable(database: TestDatabase, table: string): Promise<Held> {
  return hold(database, `LOCK TABLE ${table}`);
}

async function hold(database: TestDatabase, lock: string, parameters: string[] = []): Promise<Held> {
  const holder = new pg.Client({ connectionString: database.url });
  holder.on('error', () => undefined); // a test that fails leaves it to the end of the database
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
        await holder.end(); // the tests that follow must not wait for it too
        throw error;
      }
    },
    release: () => holder.end(),
  };
}

/** Runs a statement in a transaction that stays open. @returns what commits it */
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
