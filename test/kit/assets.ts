import { randomBytes } from 'node:crypto';
import type supertest from 'supertest';
import type { TestDatabase } from './database.js';
import type { TestUser } from './user.js';
import type { TestWorkspace } from './workspace.js';

export interface ListedAsset {
  encryptedFilename: string;
  sizeBytes: number;
  uploadedAt: number;
}

export interface StorageUsage {
  usedBytes: number;
  quotaBytes: number;
  plan: string;
  addonBytes: number;
  locked: boolean;
}

/** A unique envelope. */
export const envelope = (size = 61): Buffer => randomBytes(size);

/** A unique token. */
export const assetToken = (): string => randomBytes(18).toString('base64url');

/** A workspace's assets as a client sees them. */
export class TestAssets {
  constructor(
    readonly user: TestUser,
    readonly workspaceId: string,
  ) {}

  static of({ user, id }: TestWorkspace): TestAssets {
    return new TestAssets(user, id);
  }

  /** The same assets at another instance, or with another token. */
  as(user: TestUser): TestAssets {
    return new TestAssets(user, this.workspaceId);
  }

  request(method: Parameters<TestUser['request']>[0], path = ''): supertest.Test {
    return this.user.request(method, `/api/assets${path}`).set('X-Workspace-Id', this.workspaceId);
  }

  /** @param key null: no Idempotency-Key */
  create(token: string, bytes: Buffer = envelope(), key: string | null = null): supertest.Test {
    const request = key === null ? this.request('post') : this.request('post').set('Idempotency-Key', key);
    return request.send({ encryptedFilename: token, data: bytes.toString('base64') });
  }

  get(token: string): supertest.Test {
    return this.request('get', `/${token}`);
  }

  rename(token: string, newEncryptedFilename: string): supertest.Test {
    return this.request('patch', `/${token}`).send({ newEncryptedFilename });
  }

  delete(token: string): supertest.Test {
    return this.request('delete', `/${token}`);
  }

  deleteAll(tokens: unknown): supertest.Test {
    return this.request('post', '/batch-delete').send({ tokens });
  }

  async list(): Promise<ListedAsset[]> {
    return (await this.request('get', '/list').expect(200)).body;
  }

  async tokens(): Promise<string[]> {
    return (await this.list()).map(({ encryptedFilename }) => encryptedFilename);
  }

  async usage(): Promise<StorageUsage> {
    return (await this.request('get', '/usage').expect(200)).body;
  }
}

/** Reads the database: no account's count differs from the sum of its assets, and every asset has a live blob. */
export async function expectExactUsage({ query }: Pick<TestDatabase, 'query'>): Promise<void> {
  const drift = await query(`
    SELECT u.id, coalesce(s.used_bytes, 0) AS counted, coalesce(sum(a.size), 0)::bigint AS actual
    FROM users u LEFT JOIN storage_accounts s ON s.user_id = u.id
    LEFT JOIN workspaces w ON w.user_id = u.id LEFT JOIN assets a ON a.workspace_id = w.id
    GROUP BY u.id, s.used_bytes HAVING coalesce(s.used_bytes, 0) <> coalesce(sum(a.size), 0)`);
  expect(drift).toEqual([]);
  const unlike = await query(`
    SELECT a.token, b.state, b.size FROM assets a JOIN blobs b ON b.workspace_id = a.workspace_id AND b.id = a.blob_id
    WHERE b.state <> 'live' OR b.size <> a.size`);
  expect(unlike).toEqual([]);
}

/** Number of commits to a workspace's assets that clients are notified of. */
export async function assetsRevision(
  { query }: Pick<TestDatabase, 'query'>,
  workspaceId: string,
): Promise<number> {
  const [row] = await query<{ revision: string }>(
    'SELECT assets_revision AS revision FROM workspaces WHERE id = $1',
    [workspaceId],
  );
  return Number(row?.revision);
}
