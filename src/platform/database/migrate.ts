import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { StartupError } from '../../config/index.js';
import { mayBeSilent } from './silence.js';

const LOWEST_SERVER_VERSION = 150_000;

/** Any number of instances may start at once: one migrates, the others wait for it. */
const START_LOCK = 7_325_190_001;

/**
 * Runs `work` while no other instance is in its own start phase. The lock goes with its connection, so a crash
 * frees it.
 */
export async function underStartLock<T>(dataSource: DataSource, work: () => Promise<T>): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as PoolClient;
  try {
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0');
    return await mayBeSilent(client, async () => {
      await client.query('SELECT pg_advisory_lock($1)', [START_LOCK]);
      return await work();
    });
  } finally {
    const isClean = client.query(
      'SELECT pg_advisory_unlock_all(); RESET statement_timeout; RESET lock_timeout',
    );
    await isClean.catch(() => undefined); // a lost connection has no lock, and its loss is not what failed
    await runner.release();
  }
}

/**
 * Brings the schema to this code's state.
 * @throws StartupError when the server is too old, or the schema is newer than this code
 */
export async function migrate(dataSource: DataSource): Promise<void> {
  const [server] = await dataSource.query<{ version: number }[]>(
    `SELECT current_setting('server_version_num')::int AS version`,
  );
  if (!server || server.version < LOWEST_SERVER_VERSION) {
    throw new StartupError('PostgreSQL 15 or later is needed; point DATABASE_URL at a newer server.');
  }
  await refuseNewerSchema(dataSource);
  await dataSource.runMigrations({ transaction: 'each' });
}

async function refuseNewerSchema(dataSource: DataSource): Promise<void> {
  const [table] = await dataSource.query<{ exists: boolean }[]>(
    `SELECT to_regclass('migrations') IS NOT NULL AS exists`,
  );
  if (!table?.exists) return;
  const known = new Set(dataSource.migrations.map((migration) => migration.name));
  const applied = await dataSource.query<{ name: string }[]>('SELECT name FROM migrations ORDER BY id');
  const unknown = applied.find(({ name }) => !known.has(name));
  if (unknown) {
    throw new StartupError(
      `The database was migrated by a newer version (${unknown.name}); start that version or a later one.`,
    );
  }
}
