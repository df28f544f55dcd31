import { Inject, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { ClientBase, PoolClient } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { OperatorError } from '../config/index.js';
import { createDataSource, type DataSourceSettings, type ServiceDataSource } from './data-source.js';
import { readOnlyServerError, sqlState } from './database-errors.js';
import {
  DATABASE_SERVER,
  isOnNodes,
  refuseRunningService,
  type RowsOf,
  type Server,
} from './database-server.js';
import { baseline, migrations, REPLACED_MIGRATIONS } from './migrations/index.js';
import { withoutSilenceLimit } from './session.js';
import { filled } from './statement.js';

const NAMES = baseline.map(({ name }) => name);

export const isReplaced = (migration: string): boolean => REPLACED_MIGRATIONS.includes(migration);

/**
 * Maps applied migrations to those of this version: the complete set that the baseline replaces counts as the baseline.
 * @returns undefined when only some of that set are applied
 */
export function asOfBaseline(applied: readonly string[]): readonly string[] | undefined {
  const known = applied.filter((name) => !isReplaced(name));
  if (NAMES.every((name) => known.includes(name)) || known.length === applied.length) return known;
  return REPLACED_MIGRATIONS.every((name) => applied.includes(name)) ? [...NAMES, ...known] : undefined;
}

/** Functions that only versions before the baseline called. */
const OBSOLETE = ['put_file', 'put_files', 'put_document'];

/**
 * Marks the baseline as applied in a database that has all migrations it replaces. Their rows stay, because concurrent instances
 * of the previous version check that all of their migrations are applied.
 * @param applied names of migrations
 * @throws OperatorError when it has only some of them
 */
export async function adoptBaseline(dataSource: DataSource, applied: readonly string[]): Promise<void> {
  const names = asOfBaseline(applied);
  if (names === undefined)
    throw new OperatorError(
      `The version before has not finished its migrations (the last one is ${applied.findLast(isReplaced)}); ` +
        'start that version once, which finishes them, then this one.',
    );
  const missing = names.filter((name) => !applied.includes(name));
  if (missing.length === 0) return;
  await dataSource.transaction(async (tx) => {
    await tx.query(`DROP FUNCTION IF EXISTS ${OBSOLETE.join(', ')}`);
    for (const name of missing)
      await tx.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [name.slice(-13), name]);
  });
}

/** Database functions whose source is in a file of this version instead of in migrations. */
export interface StoredFunctions {
  /** The name of one of them; its comment in the database is the hash of their source. */
  readonly main: string;
  /**
   * `CREATE OR REPLACE FUNCTION` for each, without parameters or columns that an earlier version does not know. Names are in
   * braces as in statements; `{hold_shard}` marks where a function must hold its shard, if it has one.
   */
  readonly template: string;
}

export const STORED_FUNCTIONS = Symbol('STORED_FUNCTIONS');

/**
 * Creates or replaces the functions whose source in the database differs or is missing. Skips unchanged functions: replacing them
 * would require all nodes of an engine at each start. Only one instance may run this at a time.
 */
export async function loadFunctions(
  dataSource: DataSource,
  functions: readonly StoredFunctions[],
): Promise<void> {
  for (const { main, template } of functions) {
    const sql = filled(template, (name) => (name === 'hold_shard' ? '' : name));
    const hash = createHash('sha256').update(sql).digest('hex');
    const [found] = await dataSource.query<{ hash: string | null }[]>(
      `SELECT obj_description(to_regproc($1), 'pg_proc') AS hash`,
      [main],
    );
    if (found?.hash === hash) continue;
    await dataSource.transaction(async (tx) => {
      await tx.query(sql);
      await tx.query(`COMMENT ON FUNCTION ${main} IS '${hash}'`);
    });
  }
}

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
 * @throws OperatorError when the server is too old or read-only, the database is not UTF-8, its schema is newer than this code or
 * unfinished, or must change on a distributed database while an instance runs
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

/**
 * Instances of the previous version may run during a migration, except on a distributed database, whose engine does not support
 * the triggers that they need.
 */
async function refuseBesideInstances(dataSource: DataSource): Promise<void> {
  const rowsOf = (sql: string): Promise<unknown[]> => dataSource.query<unknown[]>(sql);
  if (await isOnNodes(rowsOf)) await refuseRunningService(rowsOf);
}

const DEADLOCK = '40P01';
const ATTEMPTS = 10;

/**
 * A migration may deadlock with the writes of instances of the previous version. The server may abort the migration, which is
 * then repeated.
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

/** Whether a migration that is not among `known` belongs to a newer version. */
export function isLaterThanAll(migration: string, known: Iterable<string | undefined>): boolean {
  return momentOf(migration) >= Math.max(...[...known].map((name) => momentOf(name ?? '')));
}

/** The number at the end of a migration's name, which defines the order. */
function momentOf(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? Infinity);
}

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

/** `foreign`: neither migrations of a newer version, nor the baseline and the first of this version's other migrations. */
export type SchemaAge = 'same' | 'older' | 'newer' | 'foreign';

/** Moves an empty database back to the schema of an earlier version, and forward again to this version's. */
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
   * Undoes all migrations after the baseline except `applied`, in the client's transaction. Danger: this drops the tables and
   * columns that they created, with their contents.
   */
  async rewind(client: ClientBase, applied: readonly string[]): Promise<void> {
    const undone = migrations.slice(baseline.length).filter(({ name }) => !applied.includes(name));
    for (const Migration of undone.reverse()) {
      await new Migration().down(asRunner(client));
      await client.query('DELETE FROM migrations WHERE name = $1', [Migration.name]);
    }
  }

  /**
   * Applies the migrations that `rewind` has undone, each in its own transaction. The next start continues an interrupted run.
   */
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
