import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Log } from '../log/index.js';
import { Database } from './database.js';
import { SCHEMA_OID } from './schema-check.js';
import { statement } from './statement.js';

const LOOK_EVERY_MS = 5_000;

/** In pages of 8 KiB. A table above that is no small one; whatever was planned for it still is right when it has grown. */
const SMALL_TABLE_PAGES = 1_000;
/** Pages that PostgreSQL assumes for an empty table. */
const EMPTY_TABLE_PAGES = 10;
/** One that was loaded at once takes long: that is for PostgreSQL's own workers. */
const MAX_ANALYZED_PAGES = 100_000;

const outgrown = statement(
  'database.outgrown_tables',
  `SELECT quote_ident(relname) AS "table" FROM pg_class
   WHERE relkind = 'r' AND relnamespace = ${SCHEMA_OID}
     AND pg_has_role(relowner, 'USAGE') AND relpages < ${SMALL_TABLE_PAGES}
     AND pg_relation_size(oid) / current_setting('block_size')::int
       BETWEEN 2 * greatest(relpages, ${EMPTY_TABLE_PAGES}) + 1 AND ${MAX_ANALYZED_PAGES}`,
);

/**
 * Has PostgreSQL look at a table again as soon as it is more than twice as large as when it was last looked at. Connections
 * keep their plans until then. What was planned for a table of a few rows, that of foreign keys included, may take any
 * index that begins with the workspace for as good as its key: an upload into a workspace of 20,000 files then costs 28 ms
 * instead of a fraction of one. By itself PostgreSQL looks once a minute.
 */
@Injectable()
export class PlannerStatistics implements BeforeApplicationShutdown {
  private looking: Promise<void> | undefined;
  private isEnding = false;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Twice at once, as on two instances, does no harm: one of them skips the table. */
  @Interval(LOOK_EVERY_MS)
  keepUp(): Promise<void> {
    this.looking ??= this.look().finally(() => (this.looking = undefined));
    return this.looking;
  }

  beforeApplicationShutdown(): void {
    this.isEnding = true;
  }

  private async look(): Promise<void> {
    await this.log.bestEffort('look for growing tables', async () => {
      for (const { table } of await this.database.run<{ table: string }>(outgrown, [])) {
        if (this.isEnding) return;
        // The fault of one must not leave the others behind.
        await this.log.bestEffort(`keep the statistics of ${table}`, () =>
          this.database.pool.query(`ANALYZE (SKIP_LOCKED) ${table}`),
        );
      }
    });
  }
}
