import { Injectable } from '@nestjs/common';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { OperatorError, syncDirectory, VERSION } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, DURABLE, WITHOUT_LIMITS } from '../platform/database/index.js';
import { Blobs } from '../storage/index.js';
import { WorkspacePurge } from '../workspaces/index.js';
import { AFTER_IMPORT, backupStatements } from './backup.queries.js';
import { BlobFiles } from './blob-files.js';
import { writeList } from './blob-list.js';
import { asUnwritable } from './faults.js';
import { type Manifest, readManifest, type TableFile, writeManifest } from './manifest.js';
import { advanceIdentities, exportTable, importTable, tablesInOrder } from './table-files.js';

/** Makes text output independent of the server's settings and disables timeouts for long operations. */
const SETTINGS = `
  ${WITHOUT_LIMITS}; ${DURABLE};
  SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 1;
`;

/** Runs `work` in one transaction on a dedicated connection. @throws whatever `work` throws, after a rollback */
async function inOneTransaction<T>(
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

async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}

const LEAST = 1_000_000;
/** More changes than one workspace makes: a hundred per second, day and night. */
const A_MINUTE = 6_000;
const MINUTE_MS = 60_000;

/**
 * How far restored heads are advanced. Cursors that clients received after the backup was made stand for changes that
 * the backup does not contain, and no cursor may be issued twice: neither by this service, nor by one that was
 * restored from the same or an older backup earlier and has run since. So the gap is one million, plus 6,000 for each
 * whole minute that has passed.
 */
export function cursorGap(takenAt: Date, now: Date): number {
  const minutes = Math.max(0, Math.floor((now.getTime() - takenAt.getTime()) / MINUTE_MS));
  return LEAST + A_MINUTE * minutes;
}

const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/**
 * Backups in directories: all tables as of one instant, in PostgreSQL's text format, and the blobs next to them. A
 * backup is as sensitive as the database: paths and contents are ciphertext, email addresses and names are not.
 */
@Injectable()
export class Backups {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
    private readonly blobFiles: BlobFiles,
    private readonly purge: WorkspacePurge,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a backup while the service runs. Copying the blobs after the tables is safe: blobs referenced by the
   * snapshot keep their bytes for a day unless their workspace or asset is deleted.
   * @param directory is created if missing; an existing one must be empty
   * @throws OperatorError
   */
  async create(directory: string): Promise<Manifest> {
    try {
      await makeEmpty(directory);
      return await this.fill(directory);
    } catch (error) {
      throw asUnwritable(directory, error);
    }
  }

  /**
   * Fills this service's empty database and blob store, bytes before rows: if it fails, the database is as empty as
   * before and the restore can be repeated. Heads are advanced, so that clients that have seen more than the backup
   * start again.
   * @throws OperatorError when the service is in use or has another schema, or the backup is damaged
   */
  async restore(directory: string): Promise<Manifest> {
    const manifest = await this.preview(directory);
    await inOneTransaction(this.database, 'BEGIN', async (client) => {
      await client.query(`LOCK TABLE ${manifest.tables.map(({ name }) => name).join(', ')}`);
      await refuseWhenInUse(client); // the lock keeps everyone else out from here on
      await this.importTables(client, directory, manifest);
      await this.blobFiles.import(directory, manifest);
    });
    await this.purge.finish(); // completes deletions that were in progress
    return manifest;
  }

  /**
   * Describes what `restore` would restore, without reading all of it. @throws OperatorError when a failure is
   * foreseeable
   */
  async preview(directory: string): Promise<Manifest> {
    const manifest = await readManifest(directory);
    await refuseWhenInUse(this.database.pool);
    await inOneTransaction(this.database, SNAPSHOT, (client) => refuseOtherSchema(client, manifest));
    return manifest;
  }

  private async fill(directory: string): Promise<Manifest> {
    const takenAt = this.clock.now().toISOString();
    const { migrations, tables } = await inOneTransaction(this.database, SNAPSHOT, async (client) => {
      const files: TableFile[] = [];
      for (const table of await tablesInOrder(client))
        files.push(await exportTable(client, directory, table));
      await writeList(client, directory);
      return { migrations: await appliedMigrations(client), tables: files };
    });
    const exported = await this.blobFiles.export(directory);
    await syncDirectory(join(directory, 'tables'));
    const manifest = { format: 1, version: VERSION, migrations, takenAt, tables, ...exported } as const;
    await writeManifest(directory, manifest);
    return manifest;
  }

  private async importTables(client: pg.ClientBase, directory: string, manifest: Manifest): Promise<void> {
    const { tables, gone } = manifest;
    await client.query(`TRUNCATE ${tables.map(({ name }) => name).join(', ')} CASCADE`);
    for (const table of tables) await importTable(client, directory, table);
    await advanceIdentities(client, tables);
    for (const { workspaceId, id, deleted } of gone) {
      if (deleted === 'workspace')
        await client.query(AFTER_IMPORT.deleteWorkspace, [workspaceId, this.clock.now()]);
      else await client.query(AFTER_IMPORT.deleteAsset, [workspaceId, id]);
    }
    await client.query(AFTER_IMPORT.placeBlobs, [this.blobs.mainLocation]);
    await client.query(AFTER_IMPORT.leaveGap, [cursorGap(new Date(manifest.takenAt), this.clock.now())]);
  }
}

async function refuseWhenInUse(on: pg.ClientBase | pg.Pool): Promise<void> {
  const running = await on.query(backupStatements.runningInstance);
  if (running.rows.length > 0)
    throw new OperatorError('A service is running on this database; stop it first.');
  const users = await on.query(backupStatements.isAnybodyHere);
  if (users.rows.length > 0)
    throw new OperatorError('This database is in use; a backup can only be restored into an empty one.');
}

async function makeEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const names = await readdir(directory);
  if (names.length > 0)
    throw new OperatorError(`${directory} is not empty; a backup needs an empty directory.`);
  for (const name of ['tables', 'blobs']) await mkdir(join(directory, name), { mode: 0o700 });
}

/**
 * Also refuses a manifest whose tables differ from those in the database: its names are inserted into statements
 * unescaped.
 */
async function refuseOtherSchema(
  client: pg.ClientBase,
  { migrations, version, tables }: Manifest,
): Promise<void> {
  const applied = await appliedMigrations(client);
  if (applied.join() !== migrations.join())
    throw new OperatorError(
      `The backup has a different schema: restore it with version ${version} of the service, then start this one.`,
    );
  const here = new Set((await tablesInOrder(client)).map(({ name, columns }) => [name, ...columns].join()));
  const saved = new Set(tables.map(({ name, columns }) => [name, ...columns].join()));
  if (saved.size !== here.size || [...saved].some((table) => !here.has(table)))
    throw new OperatorError(
      'The tables of the backup do not match this database: its manifest is damaged, or the database has other tables.',
    );
}
