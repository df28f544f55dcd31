import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../config/index.js';
import type { Database } from '../../database/index.js';
import { blobStatements } from '../blobs.queries.js';
import { isStoreId, registeredId, registerStore, STORE_ID } from '../registered-stores.js';
import { S3BlobStore } from './s3-blob-store.js';
import { S3Connection, type S3Settings } from './s3-connection.js';
import { S3Fault } from './s3-fault.js';
import { md5 } from './s3-transfers.js';

const SENTENCES: Record<string, (bucket: string) => string> = {
  InvalidAccessKeyId: () => 'does not know this S3_ACCESS_KEY; check it',
  SignatureDoesNotMatch: () => 'refuses this S3_SECRET_KEY; check it',
  AccessDenied: (bucket) => `does not allow this S3_ACCESS_KEY to use the bucket ${bucket}; grant it access`,
  NoSuchBucket: (bucket) => `has no bucket ${bucket}, and it could not be created; create it`,
  BucketAlreadyExists: (bucket) =>
    `has a bucket ${bucket} that belongs to somebody else; set S3_BUCKET to another name`,
  AuthorizationHeaderMalformed: () => 'expects another region; check S3_REGION',
  InvalidLocationConstraint: () => 'has no such region; check S3_REGION',
  PermanentRedirect: () => 'keeps this bucket in another region; check S3_REGION',
  MovedPermanently: () => 'keeps this bucket in another region; check S3_REGION',
  RequestTimeTooSkewed: () => 'has a different time than this machine; correct the clocks',
  QuotaExceeded: () => 'has no room left for this account; raise its quota',
};

/** What a fault of a whole store means, and what to do. */
export function explained(fault: S3Fault, { host, bucket }: S3Connection): OperatorError {
  const sentence =
    SENTENCES[fault.code]?.(bucket) ??
    (fault.isCurable
      ? `does not answer (${fault.code}); check that it runs and that S3_ENDPOINT points at it`
      : `refuses requests (${fault.code}); check the S3 variables`);
  return new OperatorError(`The S3 store at ${host} ${sentence}.`, { cause: fault });
}

/**
 * Opens the store in a bucket, which is created if necessary and must be writable and belong to this database.
 * @param largest maximum size of a blob in bytes
 * @throws OperatorError otherwise
 */
export async function openS3Store(
  settings: S3Settings,
  database: Database,
  largest: number,
): Promise<S3BlobStore> {
  const connection = new S3Connection(settings);
  try {
    const bucket = new Bucket(connection);
    const id = await expectSameStore(bucket, database);
    return new S3BlobStore(connection, await bucket.write(id), largest);
  } catch (error) {
    connection.close();
    throw error instanceof S3Fault ? explained(error, connection) : error;
  }
}

/**
 * The id of a bucket that belongs to another database; undefined when `openS3Store` would take the bucket. Creates, writes and
 * registers nothing.
 * @throws OperatorError when the bucket cannot be read, its id is damaged, or this database has blobs elsewhere
 */
export async function foreignIdOf(settings: S3Settings, database: Database): Promise<string | undefined> {
  const connection = new S3Connection(settings);
  try {
    const bucket = new Bucket(connection);
    const { found, registered } = await idsOf(bucket, database);
    if (found !== undefined && found === registered) return undefined;
    await refuseBlobsElsewhere(bucket, database);
    if (found === undefined || isStoreId(found)) return found;
    throw new OperatorError(
      `The object ${STORE_ID} in the bucket ${bucket.name} is damaged; give it the id of its database in blob_stores, or remove it if that database is lost.`,
    );
  } catch (error) {
    throw error instanceof S3Fault ? explained(error, connection) : error;
  } finally {
    connection.close();
  }
}

/**
 * With a wrong bucket, a database's downloads would fail, and its doctor would mistake another database's blobs for leftovers.
 * The bucket and the database therefore carry the same id. The id is written to the database first: if a bucket has an id while
 * the database has none, the bucket belongs to another database; instances that start at the same time all write the same id.
 */
async function expectSameStore(bucket: Bucket, database: Database): Promise<string> {
  const { found, registered } = await idsOf(bucket, database);
  if (found !== undefined && found === registered) return found;
  if (found !== undefined) {
    throw new OperatorError(
      `The bucket ${bucket.name} belongs to another database; set S3_BUCKET to a bucket of its own.`,
    );
  }
  await refuseBlobsElsewhere(bucket, database);
  await bucket.connection.makeBucket();
  await registerStore(database, 's3', registered ?? randomUUID());
  const id = await registeredId(database, 's3');
  if (id === undefined) throw new Error('the store was not registered');
  return id;
}

/** The bucket is read first: an id that another instance has written there is in the database already. */
async function idsOf(
  bucket: Bucket,
  database: Database,
): Promise<{ found: string | undefined; registered: string | undefined }> {
  const found = await bucket.id();
  return { found, registered: await registeredId(database, 's3') };
}

async function refuseBlobsElsewhere({ name }: Bucket, database: Database): Promise<void> {
  const [named] = await database.run(blobStatements.anyStored, ['s3']);
  if (!named) return;
  throw new OperatorError(
    `The bucket ${name} is not the one with this database's blobs; set S3_BUCKET and S3_ENDPOINT to that one.`,
  );
}

class Bucket {
  constructor(readonly connection: S3Connection) {}

  get name(): string {
    return this.connection.bucket;
  }

  /** Undefined if the bucket has no id or does not exist. */
  async id(): Promise<string | undefined> {
    try {
      const body = await this.connection.retried(async (client) =>
        text(await client.getObject(this.name, STORE_ID)),
      );
      return body.trim();
    } catch (error) {
      if (error instanceof S3Fault && (error.isAbsent || error.code === 'NoSuchBucket')) return undefined;
      throw error;
    }
  }

  /**
   * Writes the id at every start, so that an unwritable bucket is detected now and not by the first upload. Returns whether
   * the store responds with the MD5 of what it has stored.
   */
  async write(id: string): Promise<boolean> {
    const { etag } = await this.connection.retried((client) =>
      client.putObject(this.name, STORE_ID, id, id.length, { 'content-type': 'text/plain' }),
    );
    return etag === md5(id).toString('hex');
  }
}
