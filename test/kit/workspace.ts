import { createHash } from 'node:crypto';
import type supertest from 'supertest';
import type { TestUser } from './user.js';

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

export interface PulledChange {
  encryptedPath: string;
  action: 'upsert' | 'delete';
  contentHash: string;
  encryptedSize: number;
  version: number;
  changedAt: string;
  changedByDevice: string | null;
}

export interface ListedVersion {
  id: string;
  version: number;
  content_hash: string;
  encrypted_size: number;
  device_id: string | null;
  created_at: string;
  changeCursor: number | null;
}

export interface ListedCheckpoint {
  id: string;
  encryptedLabel: string;
  kind: string;
  cursor: number;
  createdAt: string;
}

/** A workspace as seen by a client. `device` defaults to `laptop`. */
export class TestWorkspace {
  constructor(
    readonly user: TestUser,
    readonly id: string,
  ) {}

  get path(): string {
    return `/api/v1/workspaces/${this.id}`;
  }

  /** The same workspace at another instance, or as another user. */
  as(user: TestUser): TestWorkspace {
    return new TestWorkspace(user, this.id);
  }

  file(encryptedPath: string): string {
    return `${this.path}/files/${encryptedPath}`;
  }

  put(encryptedPath: string, content: Buffer | string, device = 'laptop'): supertest.Test {
    return this.user
      .put(this.file(encryptedPath))
      .set('Content-Type', 'application/octet-stream')
      .set('X-Content-Hash', sha256(content))
      .set('X-Device-Id', device)
      .send(Buffer.from(content));
  }

  get(encryptedPath: string): supertest.Test {
    return this.user.get(this.file(encryptedPath)).buffer(true).parse(bytes);
  }

  delete(encryptedPath: string, device = 'laptop'): supertest.Test {
    return this.user.delete(this.file(encryptedPath)).set('X-Device-Id', device);
  }

  /** The versions of a path, newest first. */
  async versions(encryptedPath: string): Promise<ListedVersion[]> {
    return (await this.user.get(`${this.file(encryptedPath)}/versions`).expect(200)).body.versions;
  }

  version(encryptedPath: string, versionId: string): supertest.Test {
    return this.user
      .get(`${this.file(encryptedPath)}/versions/${versionId}`)
      .buffer(true)
      .parse(bytes);
  }

  /** @param device null: the request names no device */
  restore(encryptedPath: string, versionId: string, device: string | null = 'laptop'): supertest.Test {
    const request = this.user.post(`${this.file(encryptedPath)}/restore/${versionId}`);
    return device === null ? request : request.set('X-Device-Id', device);
  }

  async checkpoint(encryptedLabel = 'bGFiZWw'): Promise<ListedCheckpoint> {
    const request = this.user.post(`${this.path}/checkpoints`).send({ encryptedLabel, kind: 'manual' });
    return (await request.expect(201)).body;
  }

  async checkpoints(): Promise<ListedCheckpoint[]> {
    return (await this.user.get(`${this.path}/checkpoints`).expect(200)).body.checkpoints;
  }

  push(baseCursor: number, encryptedPaths: string[], device = 'laptop'): supertest.Test {
    const changes = encryptedPaths.map((encryptedPath) => ({ encryptedPath, action: 'delete' }));
    return this.user.post(`${this.path}/sync/push`).send({ deviceId: device, baseCursor, changes });
  }

  pull(cursor: number, limit?: number, device = 'laptop'): supertest.Test {
    return this.user.post(`${this.path}/sync/pull`).send({ deviceId: device, cursor, limit });
  }

  snapshot(query: Record<string, string | number> = {}): supertest.Test {
    return this.user.get(`${this.path}/sync/snapshot`).query(query);
  }

  async status(): Promise<{ cursor: number; fileCount: number }> {
    return (await this.user.get(`${this.path}/sync/status`).expect(200)).body;
  }

  async list(): Promise<{ encrypted_path: string; content_hash: string; version: number }[]> {
    return (await this.user.get(`${this.path}/files`).expect(200)).body.files;
  }

  /** The whole log, page by page. */
  async log(limit = 1000): Promise<PulledChange[]> {
    const changes: PulledChange[] = [];
    for (let cursor = 0; ;) {
      const { body } = await this.pull(cursor, limit).expect(200);
      changes.push(...body.changes);
      cursor = body.cursor;
      if (!body.hasMore) return changes;
    }
  }
}

/** supertest's parser for ciphertext: the bytes, whatever the content type. */
export function bytes(response: supertest.Response, done: (error: Error | null, body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  const stream = response as unknown as NodeJS.ReadableStream;
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => done(null, Buffer.concat(chunks)));
  stream.on('error', (error: Error) => done(error, Buffer.alloc(0)));
}
