import { Injectable } from '@nestjs/common';
import { Database } from './database.js';

const ANSWER_WITHIN_MS = 1_500;

/**
 * `behind`: this code needs what is not there. `ahead`: a newer version has been at work, whose migrations this one
 * goes on with while instances are replaced one by one.
 */
export type SchemaState = 'ok' | 'behind' | 'ahead';

/** Looks whether the database answers, and for which version of the code its schema is. */
@Injectable()
export class SchemaCheck {
  constructor(private readonly database: Database) {}

  /** On a connection of its own: a pool that is busy is no database that is away. @throws when it cannot connect, or there is no answer in 1.5 s */
  async look(): Promise<SchemaState> {
    const client = this.database.dedicatedClient('readiness', ANSWER_WITHIN_MS);
    client.on('error', () => undefined); // the query fails too, and says it
    try {
      await client.connect();
      await client.query(`SET statement_timeout = ${ANSWER_WITHIN_MS}`); // or the server would wait on, when nobody does any more
      const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations');
      return this.stateOf(new Set(rows.map(({ name }) => name)));
    } finally {
      void client.end().catch(() => undefined);
    }
  }

  private stateOf(applied: ReadonlySet<string>): SchemaState {
    const known = new Set(this.database.dataSource.migrations.map(({ name }) => name ?? ''));
    if ([...known].some((name) => !applied.has(name))) return 'behind';
    return applied.size > known.size ? 'ahead' : 'ok';
  }
}
