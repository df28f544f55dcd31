import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Configuration, explainedByDataDir, keptText, OperatorError } from '../config/index.js';
import { Database, isTransient, runOnParts } from '../database/index.js';
import type { Background } from '../jobs/index.js';
import type { Log } from '../log.js';
import {
  type BlobStore,
  BlobStores,
  DeferredBlobStore,
  type StoreLocation,
  StoreUnavailable,
} from './blob-store.js';
import { blobStatements } from './blobs.queries.js';
import { expectUsable } from './bytes-check.js';
import { DiskBlobStore } from './disk-blob-store.js';
import { isStoreId, registeredId, registerStore, STORE_ID } from './registered-stores.js';
import type { S3Settings } from './s3/s3-connection.js';

/**
 * Opens the store under `DATA_DIR/blobs`, which must be writable and belong to this database.
 * @throws OperatorError otherwise
 */
export async function openDiskStore(dataDir: string, database: Database): Promise<DiskBlobStore> {
  const directory = join(dataDir, 'blobs');
  const store = await explained(directory, () => DiskBlobStore.open(resolve(directory)));
  await expectSameStore(database, directory);
  await expectUsable(directory);
  return store;
}

/**
 * Whether `DATA_DIR/blobs` exists and belongs to this database. Creates and registers nothing.
 * @throws OperatorError
 */
export async function hasDiskStore(dataDir: string, database: Database): Promise<boolean> {
  const directory = join(dataDir, 'blobs');
  const registered = await registeredId(database, 'disk');
  if (registered === undefined) return false;
  return (await explained(directory, () => idIn(join(directory, STORE_ID)))) === registered;
}

/**
 * With a wrong directory, a database's downloads would fail, and its sweeper would delete rows of blobs whose bytes would stay
 * elsewhere forever. The directory and the database therefore carry the same id.
 *
 * The database is read first: a directory has its id on disk before the database does, so that of two instances that start at the
 * same time, neither finds an id in the database but none in the directory.
 */
async function expectSameStore(database: Database, directory: string): Promise<void> {
  const path = join(directory, STORE_ID);
  const registered = await registeredId(database, 'disk');
  if (registered === undefined) {
    const own = await explained(directory, () => keptText(path, randomUUID));
    if (!isStoreId(own)) throw new OperatorError(`${path} is damaged; restore it from a backup of DATA_DIR.`);
    await registerStore(database, 'disk', own);
  }
  const expected = registered ?? (await registeredId(database, 'disk'));
  if ((await explained(directory, () => idIn(path))) === expected) return;
  throw new OperatorError(
    `${directory} is not the blob directory that this database belongs to; set DATA_DIR to that one, and let all instances share it.`,
  );
}

async function idIn(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function explained<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainedByDataDir(error, directory);
  }
}

/**
 * Opens the main store, which is S3 if configured, and the disk store if it still has blobs of this database. A service starts
 * even while a store is unavailable, and serves blobs that are in rows; an admin command opens S3 only when it uses it.
 * @throws OperatorError when a store of a service answers but cannot be used
 */
export async function openStores(
  configuration: Configuration,
  database: Database,
  log: Log,
  { isOn: isService }: Background,
): Promise<BlobStores> {
  const open = (location: StoreLocation): Promise<BlobStore> =>
    location === 'disk' ? openDiskStore(configuration.dataDir, database) : openS3(configuration, database);
  const openOrDefer = async (location: StoreLocation): Promise<BlobStore> => {
    const deferred = new DeferredBlobStore(location, () => open(location));
    if (!isService && location === 's3') return deferred;
    try {
      return await open(location);
    } catch (err) {
      if (!isAway(err)) throw err;
      log.error({ err }, `the ${location} store is away: until it is back, large files are refused (503)`);
      return deferred;
    }
  };
  /** @returns undefined while a node that may have such blobs does not answer */
  const holds = async (location: StoreLocation): Promise<boolean | undefined> => {
    const isOnNodes = (await database.parts()).length > 1;
    try {
      return (await runOnParts(database, blobStatements.anyStored, [location])).length > 0;
    } catch (error) {
      if (!isOnNodes || !isTransient(error)) throw error;
      return undefined;
    }
  };

  if (configuration.hasS3) {
    const disk = (await holds('disk')) ? await openOrDefer('disk') : undefined; // otherwise opened on first use
    const isDiskOurs = (): Promise<boolean> => hasDiskStore(configuration.dataDir, database);
    return new BlobStores(await openOrDefer('s3'), open, disk, isDiskOurs);
  }
  const stores = new BlobStores(await openOrDefer('disk'), open);
  if (await holds('s3')) {
    log.warn({}, 'S3_ENDPOINT is not set, but some blobs are in an S3 store: they cannot be read (503)');
  }
  return stores;
}

/** Whether a store did not answer and may be back a moment later, as opposed to one that rejects the configuration. */
function isAway(error: unknown): boolean {
  const cause = error instanceof OperatorError ? error.cause : error;
  return cause instanceof StoreUnavailable && cause.isCurable;
}

async function openS3(configuration: Configuration, database: Database): Promise<BlobStore> {
  const settings = s3SettingsIn(configuration);
  // Loaded only if needed: the S3 client is 30 MB.
  const { openS3Store } = await import('./s3/index.js');
  return openS3Store(settings, database, configuration.maxFileBytes);
}

/** @throws OperatorError when there are none */
export function s3SettingsIn(configuration: Configuration): S3Settings {
  const { s3Endpoint, s3AccessKey, s3SecretKey, s3Bucket, s3Region } = configuration;
  if (!s3Endpoint || !s3AccessKey || !s3SecretKey || !s3Bucket) {
    const names = 'S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY and S3_BUCKET';
    throw new OperatorError(`There is no S3 store; set ${names}.`);
  }
  return {
    endpoint: s3Endpoint,
    accessKey: s3AccessKey,
    secretKey: s3SecretKey,
    bucket: s3Bucket,
    region: s3Region,
  };
}

/**
 * Determines whether an empty database must take over the bucket of a lost one. Not needed for a disk store, because a new
 * database adopts its directory.
 */
@Injectable()
export class StoreAdoption {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  /**
   * The id that this database must adopt before its store can be opened; undefined when there is nothing to adopt. Changes
   * nothing.
   * @throws OperatorError when the bucket belongs to another database and must not be adopted, or cannot be used
   */
  async foreignId(mayAdopt: boolean): Promise<string | undefined> {
    if (!this.configuration.hasS3) return undefined;
    const settings = s3SettingsIn(this.configuration);
    const { foreignIdOf } = await import('./s3/index.js');
    const id = await foreignIdOf(settings, this.database);
    if (id === undefined || mayAdopt) return id;
    throw new OperatorError(
      `The bucket ${settings.bucket} belongs to another database; set S3_BUCKET to a bucket of its own, or restore with --adopt-store if that database is lost or no longer used.`,
    );
  }
}
