import { type Configuration, OperatorError } from '../config/index.js';
import type { Database } from '../platform/database/index.js';
import type { Log } from '../platform/log/index.js';
import type { BlobStore, StoreLocation } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { blobStatements } from './blobs.queries.js';
import { hasDiskStore, openDiskStore } from './open-disk-store.js';

/**
 * The main store, which is S3 where it is configured, and the disk when it still has blobs of this database.
 * @throws OperatorError when one of them is not to be used
 */
export async function openStores(
  configuration: Configuration,
  database: Database,
  log: Log,
): Promise<BlobStores> {
  const open = (location: StoreLocation): Promise<BlobStore> =>
    location === 'disk' ? openDiskStore(configuration.dataDir, database) : openS3(configuration, database);
  const holds = async (location: StoreLocation): Promise<boolean> =>
    (await database.run(blobStatements.anyStored, [location])).length > 0;

  if (configuration.hasS3) {
    const disk = (await holds('disk')) ? await open('disk') : undefined;
    const isDiskOurs = (): Promise<boolean> => hasDiskStore(configuration.dataDir, database);
    return new BlobStores(await open('s3'), open, disk, isDiskOurs);
  }
  const stores = new BlobStores(await open('disk'), open);
  if (await holds('s3')) {
    log.warn({}, 'S3_ENDPOINT is not set, but some blobs are in an S3 store: they cannot be read (503)');
  }
  return stores;
}

/** @throws OperatorError */
async function openS3(configuration: Configuration, database: Database): Promise<BlobStore> {
  const { s3Endpoint, s3AccessKey, s3SecretKey, s3Bucket, s3Region } = configuration;
  if (!s3Endpoint || !s3AccessKey || !s3SecretKey || !s3Bucket) {
    const names = 'S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY and S3_BUCKET';
    throw new OperatorError(`There is no S3 store; set ${names}.`);
  }
  const settings = {
    endpoint: s3Endpoint,
    accessKey: s3AccessKey,
    secretKey: s3SecretKey,
    bucket: s3Bucket,
    region: s3Region,
  };
  // Loaded where it is used: its client is 30 MB.
  const { openS3Store } = await import('./s3/open-s3-store.js');
  return openS3Store(settings, database, configuration.maxFileBytes);
}
