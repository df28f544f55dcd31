import { Injectable } from '@nestjs/common';
import { isReplaced } from './adopt-baseline.js';
import { readOnlyServerError } from './connect-fault.js';
import { Database } from './database.js';

/** SQL: the schema in the role's search path that contains the service's tables. */
export const SCHEMA_OID = `(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('users'))`;

const ANSWER_WITHIN_MS = 1_500;

interface Found {
  /** True for a standby, for example after a failover to a server that has not been promoted. */
  readonly isReadOnly: boolean;
  /** The migrations that were applied. */
  readonly names: readonly string[];
}

const look = `
  SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly", array(SELECT name FROM migrations) AS names`;

/**
 * `behind`: this code needs migrations that were not applied. `ahead`: a newer version has migrated the database, and this one
 * keeps working during a rolling update.
 */
export type SchemaState = 'ok' | 'behind' | 'ahead';

/** Checks that the database answers and accepts writes, and which version of the code its schema fits. */
@Injectable()
export class SchemaCheck {
  constructor(private readonly database: Database) {}

  /**
   * Uses its own connection: a busy pool does not mean that the database is down.
   * @throws when it cannot connect, gets no answer within 1.5 s, or the database is read-only
   */
  async look(): Promise<SchemaState> {
    const client = this.database.dedicatedClient('readiness', ANSWER_WITHIN_MS);
    client.on('error', () => undefined); // the query rejects too
    try {
      await client.connect();
      await client.query(`SET statement_timeout = ${ANSWER_WITHIN_MS}`); // otherwise the server would continue after the client gave up
      const { rows } = await client.query<Found>(look);
      const [found] = rows;
      if (!found || found.isReadOnly) throw readOnlyServerError();
      return this.stateOf(found.names);
    } finally {
      void client.end().catch(() => undefined);
    }
  }

  private stateOf(applied: readonly string[]): SchemaState {
    const known = this.database.dataSource.migrations.map(({ name }) => name ?? '');
    if (known.some((name) => !applied.includes(name))) return 'behind';
    return applied.some((name) => !known.includes(name) && !isReplaced(name)) ? 'ahead' : 'ok';
  }
}
