import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'minio';
import type { BlobStore } from '../../src/platform/storage/blob-store.js';
import { DiskBlobStore } from '../../src/platform/storage/disk-blob-store.js';
import { S3BlobStore } from '../../src/platform/storage/s3/s3-blob-store.js';
import { S3Connection } from '../../src/platform/storage/s3/s3-connection.js';
import { startS3, type TestS3 } from './s3.js';

export const MIB = 1024 * 1024;

/** A store of its own, and a way into it past itself. */
export interface StoreUnderTest {
  readonly store: BlobStore;
  /** Puts something under a name, which need be no key. */
  plant(name: string, bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

export async function diskUnderTest(): Promise<StoreUnderTest> {
  const root = await mkdtemp(join(tmpdir(), 'sync-store-'));
  return {
    store: await DiskBlobStore.open(root),
    plant: async (name, bytes) => {
      const [workspace = '', blob = ''] = name.split('/');
      const path = join(root, workspace, blob.slice(-2), blob);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
    },
    close: () => rm(root, { recursive: true }),
  };
}

/** @param endpoint another way to the server than the direct one */
export async function s3UnderTest(endpoint?: string): Promise<StoreUnderTest & { store: S3BlobStore }> {
  const s3 = await startS3();
  const bucket = s3.bucketName();
  const client = clientOf(s3);
  await client.makeBucket(bucket);
  const connection = new S3Connection({ ...s3, bucket, endpoint: endpoint ?? s3.endpoint });
  const store = new S3BlobStore(connection, true, 100 * MIB);
  return {
    store,
    plant: async (name, bytes) => {
      await client.putObject(bucket, name, bytes, bytes.length);
    },
    close: async () => {
      store.close();
      await Promise.resolve();
    },
  };
}

/** The client as it comes, for looking past the service. */
export function clientOf({ endpoint, accessKey, secretKey, region }: TestS3): Client {
  const { hostname, port } = new URL(endpoint);
  return new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey, region });
}

export function newKey(workspace: string = randomUUID()): string {
  return `${workspace}/${randomUUID()}`;
}

export async function* chunksOf(bytes: Buffer, size = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** All that a store lists: key → size. */
export async function listed(store: BlobStore, workspaceId?: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const page of store.list(workspaceId)) for (const { key, size } of page) found.set(key, size);
  return found;
}
