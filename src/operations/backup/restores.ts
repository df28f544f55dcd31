import { Injectable } from '@nestjs/common';
import type pg from 'pg';
import { WorkspacePurge } from '../../domain/workspaces/index.js';
import { Clock } from '../../platform/clock.js';
import { Configuration, OperatorError } from '../../platform/config/index.js';
import {
  Database,
  DURABLE,
  isServiceRunning,
  SchemaHistory,
  SHARED_COMMITS,
  sqlState,
  WITHOUT_LIMITS,
} from '../../platform/database/index.js';
import { StoreAdoption, StoreCheck } from '../../platform/storage/index.js';
import { withParts } from './backup-directory.js';
import { type BackupParts, type Manifest, readManifest } from './backup-parts.js';
import { ADOPT_STORE, AFTER_IMPORT, backupStatements, LEAVE_GAP } from './backup.queries.js';
import { BlobFiles } from './blob-files.js';
import { advanceIdentities, importTable, isLeftOut, tablesInOrder } from './table-files.js';

const LEAST = 1_000_000;
/** More changes than one workspace makes: a hundred per second, around the clock. */
const A_MINUTE = 6_000;
const MINUTE_MS = 60_000;

/**
 * How far heads are advanced when the log is as it was at `takenAt`. Cursors that clients have received since stand for changes
 * that it does not contain, and no cursor may be issued twice: neither by this service, nor by one that was restored earlier from
 * the same or an older backup and has run since. So the gap is one million, plus 6,000 for each whole minute that has passed.
 */
export function cursorGap(takenAt: Date, now: Date): number {
  const minutes = Math.max(0, Math.floor((now.getTime() - takenAt.getTime()) / MINUTE_MS));
  return LEAST + A_MINUTE * minutes;
}

/** Makes text output independent of the server's settings and disables timeouts for long operations. */
const SETTINGS = `
  ${WITHOUT_LIMITS}; ${DURABLE};
  SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 1;
`;

export const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** Runs `work` in one transaction on a dedicated connection. @throws whatever `work` throws, after a rollback */
export async function inOneTransaction<T>(
  database: Database,
  begin: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = database.dedicatedClient('backup', 0); // a table may take hours
  client.on('error', () => undefined); // the current statement fails and reports the error
  await client.connect();
  try {
    await client.query(SETTINGS);
    await client.query(begin);
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
    return result;
  } finally {
    await client.end().catch(() => undefined); // rolls back uncommitted work
  }
}

/** While a backup begins, commits that span several nodes wait for it. These limits, in ms, bound that wait for each attempt. */
const LOCK_WAIT_MS = 1_000;
const OPEN_WITHIN_MS = 10_000;
const ATTEMPTS = 10;

const LOCK_NOT_AVAILABLE = '55P03';

/** Opens the snapshots of all nodes. Another connection to one of them would have another snapshot. */
const OPEN_SNAPSHOTS = [
  'SET LOCAL citus.max_adaptive_executor_pool_size = 1',
  `SET LOCAL statement_timeout = ${OPEN_WITHIN_MS}`,
  'SELECT 1 FROM workspaces LIMIT 1',
  'SET LOCAL statement_timeout = 0',
];

/**
 * Opens the snapshots of the coordinator and of all nodes in a transaction that has none yet, while no commit that spans several
 * nodes is running. Does nothing on a single server.
 * @throws OperatorError when such a commit takes too long
 */
export async function openSnapshots(database: Database, client: pg.ClientBase): Promise<void> {
  if (!database.isDistributed) return;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++)
    if (await inOneTransaction(database, 'BEGIN', (holder) => openUnderLock(holder, client))) return;
  throw new OperatorError(
    'The backup cannot begin: a commit of several nodes takes too long. Try again when all nodes answer.',
  );
}

/** @returns false when a commit takes too long */
async function openUnderLock(holder: pg.ClientBase, client: pg.ClientBase): Promise<boolean> {
  await holder.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  await holder.query('SAVEPOINT unlocked');
  try {
    await holder.query(`LOCK TABLE ${SHARED_COMMITS} IN SHARE MODE`);
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    await holder.query('ROLLBACK TO unlocked');
    return false;
  }
  for (const sql of OPEN_SNAPSHOTS) await client.query(sql);
  return true;
}

const OTHER_TABLES =
  'The tables of the backup do not match this database: its manifest is damaged, or the database has other tables.';

/** Errors of syntax and access, and of objects on which others depend, such as views that the operator has added. */
const isOfTables = (error: unknown): boolean => /^(?:42|2B)/.test(sqlState(error) ?? '');

export interface RestoreOptions {
  /** Whether to take over a bucket that belongs to another database, which is lost or no longer used. */
  readonly adoptStore?: boolean;
}

export interface Restored extends Manifest {
  /** Whether the store of another database is taken over. */
  readonly adoptsStore: boolean;
}

interface Foreseen {
  readonly manifest: Manifest;
  /** The id of the store that this database has to adopt. */
  readonly foreignId: string | undefined;
}

/** Thrown to roll back a trial transaction that has succeeded. */
class OnlyATrial extends Error {}

/** Restores backups of this version and of earlier ones into an empty service. */
@Injectable()
export class Restores {
  constructor(
    private readonly database: Database,
    private readonly schemas: SchemaHistory,
    private readonly blobFiles: BlobFiles,
    private readonly adoption: StoreAdoption,
    private readonly store: StoreCheck,
    private readonly purge: WorkspacePurge,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Fills this service's empty database and blob store, bytes before rows: if it fails, the database is as empty as
   * before and the restore can be repeated. A backup of an older version is migrated as an upgrade would. Heads are
   * advanced, so that clients that have seen more than the backup start again.
   * @param place a directory or `s3://bucket/prefix`
   * @throws OperatorError when the service is in use or older than the backup, the backup is damaged, or the store is not this
   * database's
   */
  restore(place: string, options: RestoreOptions = {}): Promise<Restored> {
    return withParts(place, this.configuration, async (parts) => {
      const { manifest, foreignId } = await this.foresee(parts, options);
      if (foreignId !== undefined) await this.adopt(foreignId);
      await this.store.look(); // opens it, which must not wait for the transaction of the restore
      await inOneTransaction(this.database, 'BEGIN', async (client) => {
        await this.prepare(client, manifest);
        await this.importTables(client, parts, manifest);
        await this.blobFiles.import(parts, manifest);
      });
      await this.advance(manifest);
      await this.purge.finish(); // completes deletions that were in progress
      return { ...manifest, adoptsStore: foreignId !== undefined };
    });
  }

  /** Describes what `restore` would restore, without reading all of it. @throws OperatorError when a failure is foreseeable */
  preview(place: string, options: RestoreOptions = {}): Promise<Restored> {
    return withParts(place, this.configuration, async (parts) => {
      const { manifest, foreignId } = await this.foresee(parts, options);
      return { ...manifest, adoptsStore: foreignId !== undefined };
    });
  }

  private async foresee(parts: BackupParts, { adoptStore = false }: RestoreOptions): Promise<Foreseen> {
    const manifest = await readManifest(parts);
    await refuseWhenInUse(this.database.pool);
    this.refuseUnknownSchema(manifest);
    const trial = inOneTransaction(this.database, 'BEGIN', async (client) => {
      await this.prepare(client, manifest);
      throw new OnlyATrial();
    });
    await trial.catch((error: unknown) => {
      if (!(error instanceof OnlyATrial)) throw error;
    });
    return { manifest, foreignId: await this.adoption.foreignId(adoptStore) };
  }

  /** Runs before the transaction of the restore, because the store is opened over another connection. */
  private adopt(foreignId: string): Promise<void> {
    return inOneTransaction(this.database, 'BEGIN', async (client) => {
      await lockOutOthers(client);
      await client.query(ADOPT_STORE, [foreignId]);
    });
  }

  /** Gives the database the schema of the backup. */
  private async prepare(client: pg.ClientBase, manifest: Manifest): Promise<void> {
    await lockOutOthers(client);
    try {
      await this.schemas.rewind(client, manifest.migrations);
    } catch (error) {
      throw isOfTables(error) ? new OperatorError(OTHER_TABLES, { cause: error }) : error;
    }
    await refuseOtherTables(client, manifest);
  }

  private async importTables(client: pg.ClientBase, parts: BackupParts, manifest: Manifest): Promise<void> {
    const { gone } = manifest;
    // In the order of this database: one whose tables are distributed has fewer foreign keys, and other backups another order.
    const places = new Map((await tablesInOrder(client)).map(({ name }, place) => [name, place]));
    const tables = manifest.tables
      .filter(({ name }) => !isLeftOut(name))
      .sort((a, b) => (places.get(a.name) ?? 0) - (places.get(b.name) ?? 0));
    await client.query(`TRUNCATE ${tables.map(({ name }) => name).join(', ')} CASCADE`);
    for (const table of tables) await importTable(client, parts, table);
    await advanceIdentities(client, tables);
    for (const { workspaceId, id, deleted } of gone) {
      if (deleted === 'workspace')
        await client.query(AFTER_IMPORT.deleteWorkspace, [workspaceId, this.clock.now()]);
      else for (const sql of AFTER_IMPORT.deleteAsset) await client.query(sql, [workspaceId, id]);
    }
    await client.query(AFTER_IMPORT.placeBlobs, [this.blobFiles.target]);
    await client.query(LEAVE_GAP, [cursorGap(new Date(manifest.takenAt), this.clock.now())]);
  }

  /** If the process ends before or during this, the next start of any command or service completes it. */
  private async advance({ migrations }: Manifest): Promise<void> {
    if (this.schemas.ageOf(migrations) === 'same') return;
    try {
      await this.schemas.advance();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new OperatorError(
        `Everything is restored, with the older schema of the backup; its migration failed (${reason}): fix that and start the service, which repeats it.`,
        { cause: error },
      );
    }
  }

  private refuseUnknownSchema({ migrations, version }: Manifest): void {
    const age = this.schemas.ageOf(migrations);
    if (age === 'newer')
      throw new OperatorError(
        `The backup was made by a newer version (${version}, ${migrations.at(-1)}); restore it with that version or a later one.`,
      );
    if (age === 'foreign')
      throw new OperatorError(
        `The backup has a schema that no release supports: restore it with the version that made it (${version}).`,
      );
    if (age === 'older' && this.database.isDistributed)
      throw new OperatorError(
        `The backup was made by an older version (${version}, ${migrations.at(-1)}), whose tables cannot be distributed: ` +
          'restore it into an empty database of the coordinator whose tables are not distributed yet, then run `npm run distribute`.',
      );
  }
}

/** Locks out all other clients until the transaction ends. @throws OperatorError when the database is in use */
async function lockOutOthers(client: pg.ClientBase): Promise<void> {
  await client.query('LOCK TABLE users, workspaces');
  await refuseWhenInUse(client);
}

async function refuseWhenInUse(on: pg.ClientBase | pg.Pool): Promise<void> {
  if (await isServiceRunning(async (sql) => (await on.query<object>(sql)).rows))
    throw new OperatorError('A service is running on this database; stop it first.');
  const users = await on.query(backupStatements.isAnybodyHere);
  if (users.rows.length > 0)
    throw new OperatorError('This database is in use; a backup can only be restored into an empty one.');
}

/**
 * Refuses a manifest whose tables differ from those in the database: its names are inserted into statements unescaped. An older
 * backup may have tables that are left out by now; they are not read.
 */
async function refuseOtherTables(client: pg.ClientBase, { tables }: Manifest): Promise<void> {
  const here = new Set((await tablesInOrder(client)).map(({ name, columns }) => [name, ...columns].join()));
  const relevant = tables.filter(({ name }) => !isLeftOut(name));
  const saved = new Set(relevant.map(({ name, columns }) => [name, ...columns].join()));
  if (saved.size !== here.size || [...saved].some((table) => !here.has(table)))
    throw new OperatorError(OTHER_TABLES);
}
