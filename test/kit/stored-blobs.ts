import { createHash } from 'node:crypto';
import { Client } from 'minio';
import { buffer } from 'node:stream/consumers';
import type { TestDatabase } from './database.js';
import type { TestS3 } from './s3.js';

/** A bucket, inspected without the service. */
export class TestBucket {
  readonly client: Client;

  constructor(
    s3: TestS3,
    readonly name: string,
  ) {
    const { hostname, port } = new URL(s3.endpoint);
    const { accessKey, secretKey, region } = s3;
    this.client = new Client({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      accessKey,
      secretKey,
      region,
    });
  }

  /** The keys of all blobs in the bucket. */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const { name } of this.client.listObjectsV2(this.name, '', true) as AsyncIterable<{
      name: string;
    }>)
      if (name !== 'store-id') keys.push(name);
    return keys.sort();
  }

  /** Number of unfinished multipart uploads. */
  async drafts(): Promise<number> {
    return (await this.client.listIncompleteUploadsQuery(this.name, '', '', '', '')).uploads.length;
  }

  async bytes(key: string): Promise<Buffer> {
    return buffer(await this.client.getObject(this.name, key));
  }

  put(key: string, bytes: Buffer): Promise<unknown> {
    return this.client.putObject(this.name, key, bytes, bytes.length);
  }

  remove(key: string): Promise<void> {
    return this.client.removeObject(this.name, key);
  }
}

/**
 * Nothing is lost and nothing is left over: every version's blob is live with its complete bytes, in the bucket or in the
 * row, and the bucket has nothing else. Returns the number of versions.
 */
export async function expectNothingLostOrLeft(database: TestDatabase, bucket: TestBucket): Promise<number> {
  const versions = await database.query<{ key: string; hash: string; state: string; bytes: Buffer | null }>(
    `SELECT b.workspace_id || '/' || b.id AS key, v.content_hash AS hash, b.state, b.bytes
     FROM versions v JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id`,
  );
  for (const { key, hash, state, bytes } of versions) {
    expect(state).toBe('live');
    expect(
      createHash('sha256')
        .update(bytes ?? (await bucket.bytes(key)))
        .digest('hex'),
    ).toBe(hash);
  }
  const named = await database.query<{ key: string; state: string }>(
    `SELECT workspace_id || '/' || id AS key, state FROM blobs WHERE location = 's3'`,
  );
  expect(named.filter(({ state }) => state !== 'live')).toEqual([]);
  expect(await bucket.keys()).toEqual(named.map(({ key }) => key).sort());
  expect(await bucket.drafts()).toBe(0);
  return versions.length;
}
