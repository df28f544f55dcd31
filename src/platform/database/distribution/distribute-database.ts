import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { connectFault } from '../connect-fault.js';
import { createDataSource } from '../data-source.js';
import { migrate, underStartLock } from '../migrate.js';
import { distribute, refuseUnready } from './distribute.js';
import { STEPS } from './steps.js';

export interface DistributeOptions {
  readonly isDryRun: boolean;
  /** Called with the sentence of each step before it is done. */
  readonly onStep: (sentence: string) => void;
}

const MIGRATE = 'Create the tables, or migrate them to this version.';

/**
 * Migrates the database at `url` and distributes its tables over the nodes of the engine; no instance can start meanwhile.
 * @returns the number of steps that were done, or with `isDryRun` of those that would be
 * @throws OperatorError
 */
export async function distributeDatabase(url: string, options: DistributeOptions): Promise<number> {
  const settings = { target: url, poolSize: 3, entities: [], onPoolError: () => undefined };
  const source = createDataSource({ ...settings, isWithoutTimeouts: true });
  try {
    await source.initialize();
    return await (options.isDryRun
      ? preview(source, options)
      : underStartLock(source, () => change(source, options)));
  } catch (error) {
    throw connectFault(error);
  } finally {
    if (source.isInitialized) await source.destroy();
  }
}

/** Without a lock, so that it can look while the service runs. */
function preview(source: DataSource, { onStep }: DistributeOptions): Promise<number> {
  return onConnection(source, async (client) => {
    await refuseUnready(client);
    const migrations = (await applied(source)) < source.migrations.length ? 1 : 0;
    if (migrations > 0) onStep(MIGRATE);
    const { rows } = await client.query(`SELECT 1 WHERE to_regclass('workspaces') IS NULL`);
    if (rows.length === 0) return migrations + (await distribute(client, { isDryRun: true, onStep }));
    for (const { sentence } of STEPS) onStep(sentence);
    return migrations + STEPS.length;
  });
}

async function change(source: DataSource, options: DistributeOptions): Promise<number> {
  await onConnection(source, refuseUnready);
  const { length } = source.migrations;
  const before = await applied(source);
  if (before < length) options.onStep(MIGRATE);
  await migrate(source);
  const steps = await onConnection(source, (client) => distribute(client, options));
  return steps + (before < length ? 1 : 0);
}

async function applied(source: DataSource): Promise<number> {
  const [table] = await source.query<{ exists: boolean }[]>(
    `SELECT to_regclass('migrations') IS NOT NULL AS exists`,
  );
  if (!table?.exists) return 0;
  const [row] = await source.query<{ count: number }[]>('SELECT count(*)::int AS count FROM migrations');
  return row?.count ?? 0;
}

async function onConnection<T>(source: DataSource, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const runner = source.createQueryRunner();
  try {
    return await work((await runner.connect()) as PoolClient);
  } finally {
    await runner.release();
  }
}
