import { Inject, Injectable } from '@nestjs/common';
import type { ClientBase } from 'pg';
import type { QueryRunner } from 'typeorm';
import { asOfBaseline, isReplaced } from './adopt-baseline.js';
import { createDataSource, type DataSourceSettings } from './data-source.js';
import { DATABASE_SERVER, type Server } from './database-server.js';
import { isLaterThanAll, migrate, underStartLock } from './migrate.js';
import { baseline, migrations } from './migrations/index.js';
import { STORED_FUNCTIONS, type StoredFunctions } from './stored-functions.js';

interface ForMigrations extends Pick<DataSourceSettings, 'target' | 'onPoolError'> {
  readonly functions: readonly StoredFunctions[];
}

/** Migrates with its own connections: the pool cancels statements after seconds, and a migration may take longer. */
export async function migrateOnce({ target, onPoolError, functions }: ForMigrations): Promise<void> {
  const settings = { target, onPoolError, entities: [], poolSize: 2, isWithoutTimeouts: true };
  const dataSource = await createDataSource(settings).initialize();
  try {
    await underStartLock(dataSource, () => migrate(dataSource, functions));
  } finally {
    await dataSource.destroy();
  }
}

/**
 * `foreign`: migrations that are neither this version's, nor the baseline and the first of the others, nor followed by those of a
 * newer version.
 */
export type SchemaAge = 'same' | 'older' | 'newer' | 'foreign';

/** The schemas of earlier versions: an empty database can go back to one of them, and then on to this version's again. */
@Injectable()
export class SchemaHistory {
  private readonly known = migrations.map(({ name }) => name);

  constructor(
    @Inject(DATABASE_SERVER) private readonly server: Server,
    @Inject(STORED_FUNCTIONS) private readonly functions: readonly StoredFunctions[],
  ) {}

  /** @param applied names of migrations, oldest first */
  ageOf(applied: readonly string[]): SchemaAge {
    const unknown = applied.find((name) => !this.known.includes(name) && !isReplaced(name));
    if (unknown !== undefined) return isLaterThanAll(unknown, this.known) ? 'newer' : 'foreign';
    const names = asOfBaseline(applied) ?? [];
    if (names.length < baseline.length || names.some((name, index) => name !== this.known[index]))
      return 'foreign';
    return names.length === this.known.length ? 'same' : 'older';
  }

  /**
   * Undoes all migrations after the baseline but those of `applied`, in the client's transaction. Danger: this drops the tables and
   * columns that they have created, with what is in them.
   */
  async rewind(client: ClientBase, applied: readonly string[]): Promise<void> {
    const undone = migrations.slice(baseline.length).filter(({ name }) => !applied.includes(name));
    for (const Migration of undone.reverse()) {
      await new Migration().down(asRunner(client));
      await client.query('DELETE FROM migrations WHERE name = $1', [Migration.name]);
    }
  }

  /** Applies what `rewind` has undone, each migration in a transaction of its own. An interrupted run continues with the next start. */
  async advance(): Promise<void> {
    await migrateOnce({
      target: this.server.target,
      onPoolError: () => undefined,
      functions: this.functions,
    });
  }
}

/** Migrations use only this method. TypeORM's own runner would not take part in the client's transaction. */
function asRunner(client: ClientBase): QueryRunner {
  const query = async (sql: string, values?: unknown[]): Promise<unknown> =>
    (await client.query(sql, values)).rows;
  return { query } as unknown as QueryRunner;
}
