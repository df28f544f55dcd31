import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { Configuration, OperatorError, VERSION } from '../../platform/config/index.js';
import { appliedMigrations, Database } from '../../platform/database/index.js';
import { BackupBucket } from './backup-bucket.js';
import { BackupDirectory, withParts } from './backup-directory.js';
import {
  asUnwritable,
  type BackupParts,
  type Manifest,
  type TableFile,
  withObjects,
  writeManifest,
} from './backup-parts.js';
import type { BackupTarget } from './backup-target.js';
import { BlobFiles, writeList } from './blob-files.js';
import { DatabaseIdentity } from './database-identity.js';
import { inOneTransaction, openSnapshots, SNAPSHOT } from './restores.js';
import { exportTable, tablesInOrder } from './table-files.js';

/**
 * Backups, in directories or buckets: all tables as of one instant, in PostgreSQL's text format, and the blobs next to them. A
 * backup is as sensitive as the database: paths and contents are ciphertext, email addresses and names are not.
 */
@Injectable()
export class Backups {
  constructor(
    private readonly database: Database,
    private readonly identity: DatabaseIdentity,
    private readonly blobFiles: BlobFiles,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Creates a backup while the service runs. Copying the blobs after the tables is safe: blobs referenced by the
   * snapshot keep their bytes for a day unless their workspace or asset is deleted.
   * @param place a directory, which is created if missing, or `s3://bucket/prefix`; it must be empty
   * @param isTidied whether the caller removes what a failed attempt leaves
   * @throws OperatorError
   */
  create(place: string, { isTidied = false } = {}): Promise<Manifest> {
    return withParts(place, this.configuration, async (parts) => {
      try {
        await parts.begin();
        return await this.fill(parts);
      } catch (error) {
        throw asUnwritable(parts.name, error, isTidied);
      }
    });
  }

  private async fill(parts: BackupParts): Promise<Manifest> {
    const takenAt = this.clock.now().toISOString();
    const database = await this.identity.id();
    const { migrations, tables } = await inOneTransaction(this.database, SNAPSHOT, async (client) => {
      await openSnapshots(this.database, client);
      const files: TableFile[] = [];
      for (const table of await tablesInOrder(client)) files.push(await exportTable(client, parts, table));
      await writeList(client, parts);
      const migrations = await appliedMigrations(async (sql) => (await client.query<object>(sql)).rows);
      return { migrations, tables: files };
    });
    const exported = await this.blobFiles.export(parts);
    const manifest = {
      format: 1,
      version: VERSION,
      database,
      migrations,
      takenAt,
      tables,
      ...exported,
    } as const;
    await writeManifest(parts, manifest);
    return manifest;
  }
}

/** Opens the place of scheduled backups for `work`. @throws OperatorError when they are off */
export async function withTarget<T>(
  { backupDir, backupStore, dataDir }: Configuration,
  work: (target: BackupTarget) => Promise<T>,
): Promise<T> {
  if (backupDir === undefined)
    throw new OperatorError(
      'Scheduled backups are off: set BACKUP_DIR to a directory or to s3://bucket/prefix for them.',
    );
  return withObjects(backupDir, backupStore, (objects) =>
    work(objects ? new BackupBucket(backupDir, objects, dataDir) : new BackupDirectory(backupDir)),
  );
}
