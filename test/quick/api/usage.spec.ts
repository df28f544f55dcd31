import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { TestAssets } from '../../kit/assets.js';
import {
  eventually,
  holdRow,
  sha256,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { earlyAnswer, headOf, openSocket } from '../../kit/raw-http.js';

const QUOTA = 300_000;
const LARGE = 100_000; // in the blob store
const GIB = 1024 ** 3;

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { DOCUMENT_QUOTA_PRO_BYTES: String(QUOTA) } });
});
afterAll(() => service.close());

let count = 0;
const someone = (): Promise<TestUser> => service.user(`someone-${(count += 1)}`);

interface Documents {
  usedBytes: number;
  quotaBytes: number;
  workspaces: { id: string; usedBytes: number; files: number }[];
}

const usageOf = async (user: TestUser): Promise<Documents> =>
  (await user.get('/api/v1/usage').expect(200)).body.documents;

const filled = (size: number, fill = 'x'): Buffer => Buffer.alloc(size, fill);

const refusal = (usedBytes: number, requestedBytes: number): object => ({
  error: 'the storage quota is used up',
  code: 'STORAGE_QUOTA_EXCEEDED',
  details: { usedBytes, quotaBytes: QUOTA, requestedBytes, locked: false },
});

async function rowsOf(workspace: TestWorkspace): Promise<Record<string, number>> {
  const [rows] = await service.database.query<Record<string, number>>(
    `SELECT (SELECT count(*)::int FROM blobs WHERE workspace_id = $1) AS blobs,
            (SELECT count(*)::int FROM versions WHERE workspace_id = $1) AS versions,
            (SELECT count(*)::int FROM changes WHERE workspace_id = $1) AS changes`,
    [workspace.id],
  );
  return rows!;
}

const storedFiles = async (): Promise<string[]> =>
  (await readdir(join(service.dataDir, 'blobs'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();

/** The status of an upload that gets an answer before its body is complete. */
async function earlyStatus(
  workspace: TestWorkspace,
  headers: Record<string, string>,
  body = '',
): Promise<number> {
  const socket = openSocket(service.url);
  const common = { Host: 'x', Authorization: `Bearer ${workspace.user.token}`, 'X-Device-Id': 'laptop' };
  socket.write(
    headOf('PUT', workspace.file('Yg'), { ...common, 'X-Content-Hash': sha256('never sent'), ...headers }),
  );
  socket.write(body);
  const { status } = await earlyAnswer(socket);
  socket.destroy();
  return status;
}

describe('GET /api/v1/usage', () => {
  it('reports the bytes of all kept versions by workspace, and the usage of assets', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    const work = await alice.workspace('work');
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'three').expect(200);
    await notes.put('Yg', filled(LARGE)).expect(201);
    await notes.delete('YQ').expect(200);
    const { body } = await alice.get('/api/v1/usage').expect(200);
    const { body: assets } = await alice.get('/api/assets/usage').set('X-Workspace-Id', notes.id).expect(200);
    expect(body).toEqual({
      documents: {
        usedBytes: 3 + 5 + LARGE,
        quotaBytes: QUOTA,
        workspaces: [
          { id: notes.id, usedBytes: 3 + 5 + LARGE, files: 1 },
          { id: work.id, usedBytes: 0, files: 0 },
        ],
      },
      assets,
    });
    expect(assets.quotaBytes).toBe(50 * GIB);
  });

  it('reports quotaBytes 0, no limit, without a subscription by default', async () => {
    const free = await service.newcomer('a-newcomer');
    expect(await usageOf(free)).toEqual({ usedBytes: 0, quotaBytes: 0, workspaces: [] });
  });

  it('lists only its workspace for a bound token, with the totals of the account', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    const work = await alice.workspace('work');
    await notes.put('YQ', 'one').expect(201);
    await work.put('YQ', 'three').expect(201);
    const token = { name: 'bound', scopes: ['documents:write'], workspaceId: work.id };
    const { body } = await alice.post('/api/v1/auth/tokens').send(token).expect(201);
    const bound = alice.at(service.url, body.token);
    expect(await usageOf(bound)).toEqual({
      usedBytes: 8,
      quotaBytes: QUOTA,
      workspaces: [{ id: work.id, usedBytes: 5, files: 1 }],
    });
  });

  it('counts neither a restored version, which shares its bytes, nor an asset', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'three').expect(200);
    const [, first] = await notes.versions('YQ');
    await notes.restore('YQ', first!.id).expect(200);
    await TestAssets.of(notes).create('token').expect(201);
    expect((await usageOf(alice)).usedBytes).toBe(8);
  });

  it('subtracts a deleted workspace at once', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', filled(LARGE)).expect(201);
    await alice.delete(notes.path).expect(200);
    expect(await usageOf(alice)).toEqual({ usedBytes: 0, quotaBytes: QUOTA, workspaces: [] });
  });
});

describe('an upload that would cross the quota', () => {
  it.each([1_000, LARGE])(
    'is 507 for %i bytes and stores nothing, whatever workspace it goes to',
    async (size) => {
      const alice = await someone();
      const notes = await alice.workspace('notes');
      const work = await alice.workspace('work');
      await work.put('YQ', filled(LARGE)).expect(201);
      await notes.put('YQ', filled(QUOTA - LARGE - size)).expect(201);
      const before = [await rowsOf(notes), await notes.status(), await storedFiles()];
      const { body } = await notes.put('Yg', filled(size + 1)).expect(507);
      expect(body).toEqual(refusal(QUOTA - size, size + 1));
      expect([await rowsOf(notes), await notes.status(), await storedFiles()]).toEqual(before);
      await notes.put('Yg', filled(size)).expect(201);
      expect((await usageOf(alice)).usedBytes).toBe(QUOTA);
    },
  );

  it('is refused before its body is read when Content-Length exceeds the quota', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', filled(QUOTA)).expect(201);
    expect(await earlyStatus(notes, { 'Content-Length': String(LARGE) })).toBe(507);
  });

  it('is refused as soon as too many bytes have arrived when it has no Content-Length', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', filled(QUOTA - 1_000)).expect(201);
    const chunk = `7d0\r\n${'x'.repeat(0x7d0)}\r\n`;
    expect(await earlyStatus(notes, { 'Transfer-Encoding': 'chunked' }, chunk)).toBe(507);
    expect((await rowsOf(notes)).blobs).toBe(1);
  });

  it('is refused after validation; a repetition of the current content is 200', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', filled(QUOTA)).expect(201);
    await notes.put('YQ', filled(QUOTA)).expect(200);
    await notes.put('Yg', 'b').set('X-Content-Hash', sha256('c')).expect(400);
    await notes.put('YQ', filled(LARGE)).set('If-None-Match', '*').expect(412);
    await notes
      .put('YQ', 'c')
      .set('If-Match', `"${sha256('another')}"`)
      .expect(412);
    await notes.put('YQ', 'c').expect(507);
  });

  it('leaves reading, deleting, pushing and restoring unchanged', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', filled(QUOTA)).expect(201);
    await notes.put('Yg', 'b').expect(507);
    await notes.get('YQ').expect(200);
    const [version] = await notes.versions('YQ');
    await notes.delete('YQ').expect(200);
    await notes.restore('YQ', version!.id).expect(200);
    await notes.push(3, ['YQ'], 'phone').expect(200);
    await notes.checkpoint();
    expect(await usageOf(alice)).toMatchObject({ usedBytes: QUOTA, workspaces: [{ files: 0 }] });
  });

  it('is decided in order among uploads that share a commit', async () => {
    const alice = await someone();
    const notes = await alice.workspace('notes');
    await notes.put('YQ', filled(QUOTA - 100)).expect(201);
    const log = await holdRow(service.database, 'workspaces', 'id', notes.id);
    const queue = service.app.get(GroupCommitQueue);
    const answers: Promise<number>[] = [];
    for (const [at, size] of [10, 95, 20, 65, 6, 5].entries()) {
      const upload = notes.put(`c${at}`, filled(size, String(at))).ok(() => true);
      answers.push(upload.then(({ status }) => status));
      // The first waits for the row of the workspace, the others for the first.
      await (at === 0 ? log.waiting(1) : eventually(() => expect(queue.waiting).toBe(at)));
    }
    await log.release();
    expect(await Promise.all(answers)).toEqual([201, 507, 201, 201, 507, 201]);
    expect((await usageOf(alice)).usedBytes).toBe(QUOTA);
  });
});
