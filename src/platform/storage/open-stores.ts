import { type Configuration, OperatorError } from '../config/index.js';
import { type Database, isTransient, runOnParts } from '../database/index.js';
import type { Background } from '../jobs/index.js';
import type { Log } from '../log/index.js';
import { type BlobStore, type StoreLocation, StoreUnavailable } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { blobStatements } from './blobs.queries.js';
import { DeferredBlobStore } from './deferred-blob-store.js';
import { hasDiskStore, openDiskStore } from './open-disk-store.js';
import type { S3Settings } from './s3/s3-connection.js';

/**
 * Opens the main store, which is S3 if configured, and the disk store if it still has blobs of this database. A service starts
 * while a store is away, and serves what is in rows; an admin command opens S3 only when it uses it.
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
  /** @returns undefined while a node that may have some does not answer */
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
    const disk = (await holds('disk')) ? await openOrDefer('disk') : undefined; // else when a blob is read from there
    const isDiskOurs = (): Promise<boolean> => hasDiskStore(configuration.dataDir, database);
    return new BlobStores(await openOrDefer('s3'), open, disk, isDiskOurs);
  }
  const stores = new BlobStores(await openOrDefer('disk'), open);
  if (await holds('s3')) {
    log.warn({}, 'S3_ENDPOINT is not set, but some blobs are in an S3 store: they cannot be read (503)');
  }
  return stores;
}

/** Whether a store did not answer, unlike one that refuses what is configured: it may be back a moment later. */
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
