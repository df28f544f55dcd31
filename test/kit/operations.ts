import { randomBytes } from 'node:crypto';
import type supertest from 'supertest';
import { assetToken, envelope, TestAssets } from './assets.js';
import { upload as item, uploadBatch } from './batches.js';
import type { TestUser } from './user.js';
import { sha256, type TestWorkspace } from './workspace.js';

/** A write of a client that may be lost on its way, with a way to tell whether it has happened. */
export interface Operation {
  readonly name: string;
  /** What commits it: the name of a prepared statement, or SQL. */
  readonly commit: RegExp;
  /** Whether repeating it has no further effect; otherwise a client checks first. */
  readonly isRepeatable: boolean;
  send(): supertest.Test;
  /** How often it has happened completely. @throws when it has happened in part */
  landed(): Promise<number>;
}

const COMMIT = /^COMMIT$/;
const newPath = (): string => randomBytes(12).toString('base64url');

/** One operation of each kind, each in its own workspace of its own user. */
export const OPERATIONS: readonly ((user: TestUser) => Promise<Operation>)[] = [
  async (user) => upload(await user.workspace(), 300),
  async (user) => upload(await user.workspace(), 100_000),
  async (user) => batch(await user.workspace()),
  async (user) => push(await user.workspace()),
  async (user) => deletion(await user.workspace()),
  async (user) => restore(await user.workspace()),
  async (user) => checkpoint(await user.workspace()),
  async (user) => asset(await user.workspace(), 1000),
  async (user) => asset(await user.workspace(), 100_000),
  (user) => Promise.resolve(named(user, 'tokens', '/api/v1/auth/tokens', COMMIT)),
  (user) => Promise.resolve(named(user, 'workspaces', '/api/v1/workspaces', COMMIT)),
];

async function upload(workspace: TestWorkspace, size: number): Promise<Operation> {
  const [path, content] = [newPath(), randomBytes(size)];
  await workspace.put(path, 'before').expect(201);
  return {
    name: `upload of ${size} bytes`,
    commit: /^files\.put/,
    isRepeatable: true,
    send: () => workspace.put(path, content),
    landed: async () => {
      const hashes = (await workspace.versions(path)).map((version) => version.content_hash);
      const { body } = await workspace.get(path).expect(200);
      expect(sha256(body as Buffer)).toBe(hashes[0]);
      return hashes.filter((hash) => hash === sha256(content)).length;
    },
  };
}

/** One group, stored completely or not at all: new files and an existing one, some of them in the blob store. */
async function batch(workspace: TestWorkspace): Promise<Operation> {
  const paths = [newPath(), newPath(), newPath(), newPath()];
  const contents = [300, 100_000, 0, 70_000].map((size) => randomBytes(size));
  await workspace.put(paths[0]!, 'before').expect(201);
  return {
    name: 'batch upload',
    commit: /^files\.put/,
    isRepeatable: true,
    send: () =>
      uploadBatch(
        workspace,
        paths.map((path, i) => item(path, contents[i]!)),
      ),
    landed: async () => {
      const hashes = contents.map((content) => sha256(content));
      const log = await workspace.log();
      const landed = paths.map(
        (path, i) => log.filter((one) => one.encryptedPath === path && one.contentHash === hashes[i]).length,
      );
      expect(new Set(landed).size).toBe(1);
      if (landed[0] === 1)
        for (const [i, path] of paths.entries())
          expect(sha256((await workspace.get(path).expect(200)).body as Buffer)).toBe(hashes[i]);
      return landed[0]!;
    },
  };
}

/** Several paths, all or none. */
async function push(workspace: TestWorkspace): Promise<Operation> {
  const paths = [newPath(), newPath(), newPath()];
  for (const path of paths) await workspace.put(path, path).expect(201);
  return {
    name: 'push',
    commit: COMMIT,
    isRepeatable: true,
    send: () => workspace.push(0, paths),
    landed: async () => {
      const deleted = (await workspace.log()).filter(
        ({ action, encryptedPath }) => action === 'delete' && paths.includes(encryptedPath),
      );
      expect([0, 1]).toContain(deleted.length / paths.length);
      return deleted.length / paths.length;
    },
  };
}

async function deletion(workspace: TestWorkspace): Promise<Operation> {
  const path = newPath();
  await workspace.put(path, path).expect(201);
  return {
    name: 'deletion',
    commit: COMMIT,
    isRepeatable: true,
    send: () => workspace.delete(path),
    landed: async () => {
      const log = await workspace.log();
      return log.filter(({ action, encryptedPath }) => action === 'delete' && encryptedPath === path).length;
    },
  };
}

async function restore(workspace: TestWorkspace): Promise<Operation> {
  const path = newPath();
  await workspace.put(path, 'old').expect(201);
  const [old] = await workspace.versions(path);
  await workspace.put(path, 'new').expect(200);
  return {
    name: 'restore',
    commit: COMMIT,
    isRepeatable: false,
    send: () => workspace.restore(path, old?.id ?? ''),
    landed: async () => (await workspace.versions(path)).length - 2,
  };
}

function checkpoint(workspace: TestWorkspace): Operation {
  const encryptedLabel = newPath();
  return {
    name: 'checkpoint',
    commit: COMMIT,
    isRepeatable: false,
    send: () => workspace.user.post(`${workspace.path}/checkpoints`).send({ encryptedLabel, kind: 'manual' }),
    landed: async () =>
      (await workspace.checkpoints()).filter((listed) => listed.encryptedLabel === encryptedLabel).length,
  };
}

function asset(workspace: TestWorkspace, size: number): Operation {
  const assets = TestAssets.of(workspace);
  const [name, bytes] = [assetToken(), envelope(size)];
  return {
    name: `asset of ${size} bytes`,
    commit: COMMIT,
    isRepeatable: true,
    send: () => assets.create(name, bytes, name),
    landed: async () => {
      const { usedBytes } = await assets.usage();
      const listed = await assets.list();
      expect(usedBytes).toBe(listed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
      const landed = listed.filter(({ encryptedFilename }) => encryptedFilename === name).length;
      if (landed > 0) expect((await assets.get(name).expect(200)).text).toBe(bytes.toString('base64'));
      return landed;
    },
  };
}

/** An object that POST creates with a name, and that is listed by it. */
function named(user: TestUser, list: 'tokens' | 'workspaces', path: string, commit: RegExp): Operation {
  const given = newPath();
  return {
    name: list.slice(0, -1),
    commit,
    isRepeatable: false,
    send: () => user.post(path).send({ name: given }),
    landed: async () => {
      const { body } = await user.get(path).expect(200);
      return (body[list] as { name: string }[]).filter((listed) => listed.name === given).length;
    },
  };
}
