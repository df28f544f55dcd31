import { setTimeout as delay } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { OperatorError } from '../config/index.js';
import { adoptBaseline, isReplaced } from './adopt-baseline.js';
import { readOnlyServerError } from './connect-fault.js';
import type { ServiceDataSource } from './data-source.js';
import { sqlState } from './database-errors.js';
import { isOnNodes, refuseRunningService, type RowsOf } from './running-service.js';
import { withoutSilenceLimit } from './silence.js';
import { loadFunctions, type StoredFunctions } from './stored-functions.js';

const LOWEST_SERVER_VERSION = 150_000;

/** Any number of instances may start at the same time: one migrates, the others wait. */
const START_LOCK = 7_325_190_001;

/**
 * A session-level lock, acquired by polling: a statement that blocks on the lock holds a snapshot, and a migration with CREATE
 * INDEX CONCURRENTLY would wait for that snapshot forever.
 */
const TRY_LOCK = `SELECT pg_try_advisory_lock(${START_LOCK}) AS "isOurs"`;
const TRY_EVERY_MS = 100;

/** Runs `work` while no other instance is in its own start phase. The lock ends with its connection, so a crash releases it. */
export async function underStartLock<T>(dataSource: ServiceDataSource, work: () => Promise<T>): Promise<T> {
  const runner = dataSource.createRunner();
  const client = (await runner.connect()) as PoolClient;
  try {
    return await withoutSilenceLimit(client, async () => {
      while (!(await client.query<{ isOurs: boolean }>(TRY_LOCK)).rows[0]?.isOurs) await delay(TRY_EVERY_MS);
      return await work();
    });
  } finally {
    const isFree = client.query('SELECT pg_advisory_unlock_all()');
    await isFree.catch(() => undefined); // a lost connection holds no lock; keep the original error
    await runner.release();
  }
}

interface ServerFacts {
  readonly version: number;
  readonly encoding: string;
  readonly isReadOnly: boolean;
}

/**
 * Migrates the schema to the version of this code, and loads the functions of this version.
 * @throws OperatorError when the server is too old or read-only, the database is not UTF-8, its schema is newer than this
 * code or unfinished, or is on nodes and to be changed while an instance runs
 */
export async function migrate(dataSource: DataSource, functions: readonly StoredFunctions[]): Promise<void> {
  const [server] = await dataSource.query<ServerFacts[]>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
            current_setting('transaction_read_only')::boolean AS "isReadOnly"`,
  );
  if (!server || server.version < LOWEST_SERVER_VERSION) {
    throw new OperatorError('PostgreSQL 15 or later is needed; point DATABASE_URL at a newer server.');
  }
  if (server.isReadOnly) throw readOnlyServerError();
  if (server.encoding !== 'UTF8') {
    throw new OperatorError(
      `The database has the encoding ${server.encoding}, which cannot store every text; ` +
        `create it with ENCODING 'UTF8' TEMPLATE template0.`,
    );
  }
  try {
    const applied = await appliedMigrations((sql) => dataSource.query(sql));
    refuseNewerSchema(dataSource, applied);
    if (lacksMigrations(dataSource, applied)) await refuseBesideInstances(dataSource);
    await adoptBaseline(dataSource, applied);
    await runMigrations(dataSource);
    await loadFunctions(dataSource, functions);
  } catch (error) {
    throw foreignSchema(error) ?? error;
  }
}

/** Instances of the version before may run meanwhile, except on nodes: an engine that distributes tables has no triggers for them. */
async function refuseBesideInstances(dataSource: DataSource): Promise<void> {
  const rowsOf = (sql: string): Promise<unknown[]> => dataSource.query<unknown[]>(sql);
  if (await isOnNodes(rowsOf)) await refuseRunningService(rowsOf);
}

const DEADLOCK = '40P01';
const ATTEMPTS = 10;

/**
 * A migration and the writes of instances of the version before may wait for each other. The server then ends one of them, and what
 * it has ended of a migration is done again.
 */
async function runMigrations(dataSource: DataSource): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await dataSource.runMigrations({ transaction: 'each' });
      return;
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Errors of syntax and access, and constraint violations: the tables are not as earlier migrations left them. */
const FOREIGN_CLASSES = new Set(['42', '23']);
const INSUFFICIENT_PRIVILEGE = '42501';

function foreignSchema(error: unknown): OperatorError | undefined {
  const state = sqlState(error);
  if (state === undefined || state === INSUFFICIENT_PRIVILEGE || !FOREIGN_CLASSES.has(state.slice(0, 2)))
    return undefined;
  return new OperatorError(
    `The database has tables that no release of this service created (${(error as Error).message}), ` +
      'but a development version or another program; set DATABASE_URL or DATA_DIR to an empty database, or restore a backup.',
    { cause: error },
  );
}

/** The names of the migrations of a database, oldest first. */
export async function appliedMigrations(rowsOf: RowsOf): Promise<string[]> {
  const table = await rowsOf(`SELECT 1 WHERE to_regclass('migrations') IS NOT NULL`);
  if (table.length === 0) return [];
  const applied = await rowsOf('SELECT name FROM migrations ORDER BY id');
  return applied.map((row) => (row as { name: string }).name);
}

export const lacksMigrations = (dataSource: DataSource, applied: readonly string[]): boolean =>
  dataSource.migrations.some(({ name }) => !applied.includes(name ?? ''));

function refuseNewerSchema(dataSource: DataSource, applied: readonly string[]): void {
  const known = new Set(dataSource.migrations.map((migration) => migration.name));
  const unknown = applied.find((name) => !known.has(name) && !isReplaced(name));
  if (unknown === undefined) return;
  if (!isLaterThanAll(unknown, known)) {
    throw new OperatorError(
      `The database was migrated by a development version (${unknown}) whose schema no release supports; ` +
        'set DATABASE_URL or DATA_DIR to an empty database, or restore a backup.',
    );
  }
  throw new OperatorError(
    `The database was migrated by a newer version (${unknown}); start that version or a later one.`,
  );
}

/** Whether a migration that is not among `known` is of a newer version. */
export function isLaterThanAll(migration: string, known: Iterable<string | undefined>): boolean {
  return momentOf(migration) >= Math.max(...[...known].map((name) => momentOf(name ?? '')));
}

/** The number at the end of a migration's name, which defines the order. */
function momentOf(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? Infinity);
}
