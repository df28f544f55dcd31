import { Inject, Injectable } from '@nestjs/common';
import type { ClientBase } from 'pg';
import type { QueryRunner } from 'typeorm';
import { createDataSource, type DataSourceSettings } from './data-source.js';
import { DATABASE_SERVER, type Server } from './database-server.js';
import { isLaterThanAll, migrate, underStartLock } from './migrate.js';
import { migrations } from './migrations/index.js';

type ForMigrations = Pick<DataSourceSettings, 'target' | 'onPoolError'>;

/** Migrates with its own connections: the pool cancels statements after seconds, and a migration may take longer. */
export async function migrateOnce({ target, onPoolError }: ForMigrations): Promise<void> {
  const settings = { target, onPoolError, entities: [], poolSize: 2, isWithoutTimeouts: true };
  const dataSource = await createDataSource(settings).initialize();
  try {
    await underStartLock(dataSource, () => migrate(dataSource));
  } finally {
    await dataSource.destroy();
  }
}

/** `foreign`: migrations that are neither this version's, nor the first of them, nor followed by those of a newer version. */
export type SchemaAge = 'same' | 'older' | 'newer' | 'foreign';

/** The schemas of earlier versions: an empty database can go back to one of them, and then on to this version's again. */
@Injectable()
export class SchemaHistory {
  private readonly known = migrations.map(({ name }) => name);

  constructor(@Inject(DATABASE_SERVER) private readonly server: Server) {}

  /** @param applied names of migrations, oldest first */
  ageOf(applied: readonly string[]): SchemaAge {
    const unknown = applied.find((name) => !this.known.includes(name));
    if (unknown !== undefined) return isLaterThanAll(unknown, this.known) ? 'newer' : 'foreign';
    if (applied.length === 0 || applied.some((name, index) => name !== this.known[index])) return 'foreign';
    return applied.length === this.known.length ? 'same' : 'older';
  }

  /**
   * Undoes all migrations but the first `kept`, in the client's transaction. Danger: this drops the tables and columns that they
   * have made, with what is in them.
   */
  async rewind(client: ClientBase, kept: number): Promise<void> {
    for (const Migration of migrations.slice(kept).reverse()) {
      await new Migration().down(asRunner(client));
      await client.query('DELETE FROM migrations WHERE name = $1', [Migration.name]);
    }
  }

  /** Applies what `rewind` has undone, each migration in a transaction of its own. An interrupted run continues with the next start. */
  async advance(): Promise<void> {
    await migrateOnce({ target: this.server.target, onPoolError: () => undefined });
  }
}

/** Migrations use only this method. TypeORM's own runner would not take part in the client's transaction. */
function asRunner(client: ClientBase): QueryRunner {
  const query = async (sql: string, values?: unknown[]): Promise<unknown> =>
    (await client.query(sql, values)).rows;
  return { query } as unknown as QueryRunner;
}
