import { randomBytes, randomUUID } from 'node:crypto';
import type supertest from 'supertest';
import {
  type Bytes,
  deriveMasterKey,
  deriveSubkeys,
  deriveVaultKeys,
  encryptContent,
  encryptPath,
  type SealedSlot,
  type VaultKeys,
  verificationHash,
} from '../../crypto/src/index.js';
import type { TestService } from './service.js';
import type { TestUser } from './user.js';
import { sha256, type TestWorkspace } from './workspace.js';

type Method = 'get' | 'put' | 'post' | 'delete' | 'head';

export interface NoteAnswer {
  path: string;
  version: number;
  contentHash: string;
  updatedAt: string;
}

/** Path of the Automation API of a workspace. */
export const automationPath = (workspaceId: string): string => `/api/v1/automation/workspaces/${workspaceId}`;

/** Encodes a path for a URL, except for its slashes. */
export const urlPath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** A workspace with encryption and an open key session, as seen by a headless tool and by an ordinary client. */
export class TestVault {
  private constructor(
    readonly workspace: TestWorkspace,
    readonly masterKey: Buffer,
    readonly keys: VaultKeys,
    /** The bytes of `keys`. */
    readonly subkeys: Record<keyof VaultKeys, Bytes>,
    readonly keySession: string,
  ) {}

  /** @param password slow to derive a key from; without one, the key is random */
  static async setUp(workspace: TestWorkspace, password?: string): Promise<TestVault> {
    const encryptionSalt = randomBytes(32).toString('hex');
    const verificationSalt = randomBytes(32).toString('hex');
    const masterKey =
      password === undefined ? randomBytes(32) : Buffer.from(await deriveMasterKey(password, encryptionSalt));
    await workspace.user
      .post(`${workspace.path}/setup-encryption`)
      .send({
        encryptionSalt,
        verificationSalt,
        verificationHash: await verificationHash(masterKey, verificationSalt),
      })
      .expect(200);
    const [keys, subkeys] = [await deriveVaultKeys(masterKey), await deriveSubkeys(masterKey)];
    return new TestVault(workspace, masterKey, keys, subkeys, '').withNewSession();
  }

  get path(): string {
    return automationPath(this.workspace.id);
  }

  /** The same vault with another key session, or as another user. */
  with(keySession: string, user: TestUser = this.workspace.user): TestVault {
    return new TestVault(this.workspace.as(user), this.masterKey, this.keys, this.subkeys, keySession);
  }

  async withNewSession(user: TestUser = this.workspace.user): Promise<TestVault> {
    const { body } = await this.openSession({ key: this.masterKey.toString('base64') }, user).expect(201);
    return this.with(body.keySession, user);
  }

  openSession(body: object, user: TestUser = this.workspace.user): supertest.Test {
    return user.post(`${this.path}/key-sessions`).send(body);
  }

  /** The place of a new key slot. */
  newSlotPlace(): { workspaceId: string; slotId: string } {
    return { workspaceId: this.workspace.id, slotId: randomUUID() };
  }

  /** Stores a key slot like a client. */
  async putSlot(slotId: string, slot: SealedSlot): Promise<void> {
    const { body } = await this.workspace.user.get(`${this.workspace.path}/key-slots`).expect(200);
    const proof = await verificationHash(this.masterKey, body.verificationSalt);
    await this.workspace.user
      .put(`${this.workspace.path}/key-slots/${slotId}`)
      .send({ ...slot, verificationHash: proof })
      .expect(201);
  }

  request(method: Method, path: string): supertest.Test {
    return this.workspace.user.request(method, `${this.path}${path}`).set('X-Key-Session', this.keySession);
  }

  read(path: string): supertest.Test {
    return this.request('get', `/notes/${urlPath(path)}`);
  }

  create(path: string, content: string): supertest.Test {
    return this.request('post', '/notes').send({ path, content });
  }

  update(path: string, content: string): supertest.Test {
    return this.request('put', `/notes/${urlPath(path)}`).send({ content });
  }

  remove(path: string): supertest.Test {
    return this.request('delete', `/notes/${urlPath(path)}`);
  }

  history(path: string): supertest.Test {
    return this.request('get', `/history/${urlPath(path)}`);
  }

  restore(path: string, versionId: string): supertest.Test {
    return this.request('post', `/restore/${urlPath(path)}`).send({ versionId });
  }

  search(q: string, limit?: number): supertest.Test {
    return this.request('get', '/search').query({ q, limit });
  }

  /** Paths of the results, best first. */
  async found(q: string): Promise<string[]> {
    const { results }: { results: { path: string }[] } = (await this.search(q).expect(200)).body;
    return results.map(({ path }) => path);
  }

  endSession(): supertest.Test {
    return this.request('delete', '/key-sessions/current');
  }

  /** All pages of the list, concatenated. */
  async list(query: Record<string, string | number> = {}): Promise<ListedNote[]> {
    const notes: ListedNote[] = [];
    for (let pageCursor: string | undefined; ;) {
      const { body } = await this.request('get', '/notes')
        .query({ ...query, ...(pageCursor ? { pageCursor } : {}) })
        .expect(200);
      notes.push(...body.notes);
      if (!body.hasMore) return notes;
      pageCursor = body.nextPageCursor;
    }
  }

  encryptedPath(path: string): string {
    return encryptPath(this.keys, path);
  }

  /** Uploads a note like an ordinary client. */
  async upload(path: string, content: string | Buffer): Promise<supertest.Response> {
    const { encryptedPath, envelope } = await this.sealed(path, content);
    return this.workspace.put(encryptedPath, envelope, 'laptop');
  }

  private async sealed(
    path: string,
    content: string | Buffer,
  ): Promise<{ encryptedPath: string; envelope: Buffer }> {
    const encryptedPath = this.encryptedPath(path);
    const envelope = Buffer.from(await encryptContent(this.keys, encryptedPath, Buffer.from(content)));
    return { encryptedPath, envelope };
  }

  /** Writes thousands of notes directly into the database: uploading them would take most of a minute. */
  async fill({ database }: TestService, notes: readonly { path: string; content: string }[]): Promise<void> {
    const sealed = await Promise.all(notes.map(({ path, content }) => this.sealed(path, content)));
    const rows = sealed.map((row) => ({ ...row, hash: sha256(row.envelope) }));
    await database.query(
      `WITH rows AS (
         SELECT r.path, r.envelope, r.hash, w.head_cursor + r.place AS cursor,
                gen_random_uuid() AS file_id, gen_random_uuid() AS blob_id, now() AS at
         FROM unnest($2::text[], $3::bytea[], $4::text[]) WITH ORDINALITY AS r (path, envelope, hash, place)
         JOIN workspaces w ON w.id = $1
       ), filled_blobs AS (
         INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
         SELECT $1, blob_id, 'live', 'inline', length(envelope), hash, envelope, at FROM rows
       ), filled_files AS (
         INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at)
         SELECT $1, file_id, path, blob_id, hash, length(envelope), 1, at, at FROM rows
       ), filled_versions AS (
         INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
         SELECT $1, gen_random_uuid(), file_id, 1, blob_id, hash, length(envelope), 'laptop', cursor, at FROM rows
       ), filled_changes AS (
         INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
         SELECT $1, cursor, file_id, path, 'upsert', hash, length(envelope), 1, at, 'laptop' FROM rows
       )
       UPDATE workspaces
       SET head_cursor = head_cursor + $5, live_files = live_files + $5,
           document_bytes = document_bytes + (SELECT coalesce(sum(length(envelope)), 0) FROM rows)
       WHERE id = $1`,
      [
        this.workspace.id,
        rows.map(({ encryptedPath }) => encryptedPath),
        rows.map(({ envelope }) => envelope),
        rows.map(({ hash }) => hash),
        rows.length,
      ],
    );
  }
}

export interface ListedNote {
  path: string | null;
  size: number;
  version: number;
  contentHash: string;
  updatedAt: string;
}
