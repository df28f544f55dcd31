import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { Pool } from 'pg';
import { Log } from '../log.js';
import { readOnlyServerError } from './database-errors.js';
import { Database } from './database.js';
import { NODES, type Nodes } from './distribution/index.js';
import { isReplaced } from './migrate.js';
import { statement } from './statement.js';

/** SQL: the schema in the role's search path that contains the service's tables. */
export const SCHEMA_OID = `(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('users'))`;

const ANSWER_WITHIN_MS = 1_500;

interface Found {
  /** True for a standby, for example after a failover to a server that has not been promoted. */
  readonly isReadOnly: boolean;
  readonly names: readonly string[];
}

const look = `
  SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly", array(SELECT name FROM migrations) AS names`;

/**
 * `behind`: this code needs migrations that were not applied. `ahead`: a newer version has migrated the database, and this one
 * keeps working during a rolling update.
 */
export type SchemaState = 'ok' | 'behind' | 'ahead';

/** Checks that the database answers and accepts writes, and compares its schema with this version's. */
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

const LOOK_EVERY_MS = 5_000;

/** In pages of 8 KiB. Plans made for a larger table remain good as it grows. */
const SMALL_TABLE_PAGES = 1_000;
/** The number of pages that PostgreSQL assumes for an empty table. */
const EMPTY_TABLE_PAGES = 10;
/** Analyzing a table that was loaded all at once takes long; PostgreSQL's own workers do that. */
const MAX_ANALYZED_PAGES = 100_000;

/** Also runs on nodes, which lack some of the tables. */
const outgrown = statement(
  'database.outgrown_tables',
  `SELECT quote_ident(relname) AS "table" FROM pg_class
   WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('workspaces'))
     AND pg_has_role(relowner, 'USAGE') AND relpages < ${SMALL_TABLE_PAGES}
     AND pg_relation_size(oid) / current_setting('block_size')::int
       BETWEEN 2 * greatest(relpages, ${EMPTY_TABLE_PAGES}) + 1 AND ${MAX_ANALYZED_PAGES}`,
);

/**
 * Analyzes a table as soon as it is more than twice as large as at the last ANALYZE. Connections keep their plans until then.
 * A plan made for a table of a few rows, also one for a foreign key, may consider any index that begins with the workspace as
 * good as the table's key: an upload into a workspace of 20,000 files then costs 28 ms instead of a fraction of a millisecond.
 * Autovacuum checks only once a minute.
 */
@Injectable()
export class PlannerStatistics implements BeforeApplicationShutdown {
  private looking: Promise<void> | undefined;
  private isEnding = false;

  constructor(
    private readonly database: Database,
    @Inject(NODES) private readonly nodes: Nodes,
    private readonly log: Log,
  ) {}

  /** Safe to run concurrently, as on two instances: one of them skips the table. */
  @Interval(LOOK_EVERY_MS)
  keepUp(): Promise<void> {
    this.looking ??= this.look().finally(() => (this.looking = undefined));
    return this.looking;
  }

  beforeApplicationShutdown(): void {
    this.isEnding = true;
  }

  private async look(): Promise<void> {
    await this.log.bestEffort('look for growing tables', () => this.lookAt(this.database.pool));
    // On a distributed database, the tables of the coordinator are empty and the nodes hold the rows.
    await this.log.bestEffort('look for growing tables of nodes', async () => {
      for (const pool of await this.nodes.pools())
        await this.log.bestEffort('look for growing tables of a node', () => this.lookAt(pool));
    });
  }

  private async lookAt(pool: Pool): Promise<void> {
    const { rows } = await pool.query<{ table: string }>(outgrown);
    for (const { table } of rows) {
      if (this.isEnding) return;
      // A failure for one table must not prevent the others.
      await this.log.bestEffort(`update the statistics of ${table}`, () =>
        pool.query(`ANALYZE (SKIP_LOCKED) ${table}`),
      );
    }
  }
}
