import { Injectable } from '@nestjs/common';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError, syncDirectory, VERSION } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { BlobFiles } from './blob-files.js';
import { writeList } from './blob-list.js';
import { asUnwritable } from './faults.js';
import { type Manifest, type TableFile, writeManifest } from './manifest.js';
import { appliedMigrations, inOneTransaction, SNAPSHOT } from './one-transaction.js';
import { exportTable, tablesInOrder } from './table-files.js';

/**
 * Backups in directories: all tables as of one instant, in PostgreSQL's text format, and the blobs next to them. A
 * backup is as sensitive as the database: paths and contents are ciphertext, email addresses and names are not.
 */
@Injectable()
export class Backups {
  constructor(
    private readonly database: Database,
    private readonly blobFiles: BlobFiles,
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
}

async function makeEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const names = await readdir(directory);
  if (names.length > 0)
    throw new OperatorError(`${directory} is not empty; a backup needs an empty directory.`);
  for (const name of ['tables', 'blobs']) await mkdir(join(directory, name), { mode: 0o700 });
}
