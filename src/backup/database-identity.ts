import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { Database } from '../platform/database/index.js';
import { DATABASE_ID, IDENTIFY_DATABASE } from './backup.queries.js';

/**
 * The id of this database, which no backup contains: a restored copy is another database. One that PostgreSQL's own tools have
 * copied has the id of the original.
 */
@Injectable()
export class DatabaseIdentity {
  constructor(private readonly database: Database) {}

  async id(): Promise<string> {
    return (await idIn(this.database.pool)) ?? this.made();
  }

  private async made(): Promise<string> {
    await this.database.pool.query(IDENTIFY_DATABASE, [randomUUID()]);
    const id = await idIn(this.database.pool);
    if (id === undefined) throw new Error('the database was not given an id');
    return id;
  }
}

async function idIn(pool: pg.Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(DATABASE_ID);
  return rows[0]?.id;
}
