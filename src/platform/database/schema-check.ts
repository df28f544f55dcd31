import { Injectable } from '@nestjs/common';
import { takesNoWrites } from './connect-fault.js';
import { Database } from './database.js';

/** SQL: the schema in which the service finds its tables, of those of its role's search path. */
export const SCHEMA_OID = `(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('users'))`;

const ANSWER_WITHIN_MS = 1_500;

interface Found {
  /** As of a standby: also after a failover that leads to a server which has not been promoted. */
  readonly isReadOnly: boolean;
  /** Of the migrations that were run. */
  readonly names: readonly string[];
}

const look = `
  SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly", array(SELECT name FROM migrations) AS names`;

/**
 * `behind`: this code needs what is not there. `ahead`: a newer version has been at work, whose migrations this one
 * goes on with while instances are replaced one by one.
 */
export type SchemaState = 'ok' | 'behind' | 'ahead';

/** Looks whether the database answers and takes writes, and for which version of the code its schema is. */
@Injectable()
export class SchemaCheck {
  constructor(private readonly database: Database) {}

  /** On a connection of its own: a pool that is busy is no database that is away. @throws when it cannot connect, there is no answer in 1.5 s, or nothing can be written */
  async look(): Promise<SchemaState> {
    const client = this.database.dedicatedClient('readiness', ANSWER_WITHIN_MS);
    client.on('error', () => undefined); // the query fails too, and says it
    try {
      await client.connect();
      await client.query(`SET statement_timeout = ${ANSWER_WITHIN_MS}`); // or the server would wait on, when nobody does any more
      const { rows } = await client.query<Found>(look);
      const [found] = rows;
      if (!found || found.isReadOnly) throw takesNoWrites();
      return this.stateOf(new Set(found.names));
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
