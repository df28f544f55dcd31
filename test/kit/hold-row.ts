import pg from 'pg';
import type { TestDatabase } from './database.js';

/** A row that nobody else can lock until it is let go. */
export interface HeldRow {
  /** Resolves when so many connections wait for a lock, on this row or on one that somebody holds who waits for it. */
  waiting(connections: number): Promise<void>;
  release(): Promise<void>;
}

export async function holdRow(
  database: TestDatabase,
  table: string,
  column: string,
  id: string,
): Promise<HeldRow> {
  const holder = new pg.Client({ connectionString: database.url });
  holder.on('error', () => undefined); // a test that fails leaves it to the end of the database
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(`SELECT FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [id]);
  return {
    waiting: (connections) =>
      database.eventually(
        `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         HAVING count(*) = ${connections}`,
      ),
    release: () => holder.end(),
  };
}
