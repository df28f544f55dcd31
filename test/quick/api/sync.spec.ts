import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { brotliDecompressSync } from 'node:zlib';
import type supertest from 'supertest';
import { footprint } from '../../kit/footprint.js';
import {
  type PulledChange,
  sha256,
  startService,
  type TestService,
  type TestWorkspace,
} from '../../kit/index.js';
import { expectReplayLaw } from '../../kit/oracles.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const MIB = 1024 * 1024;
const MAX_CURSOR = 2 ** 31;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

let names = 0;
async function workspace(): Promise<TestWorkspace> {
  return (await service.user(`sync-${++names}`)).workspace();
}

/** A workspace with one file at each path, its content the path; the log is in this order. */
async function workspaceWith(...encryptedPaths: string[]): Promise<TestWorkspace> {
  const notes = await workspace();
  for (const encryptedPath of encryptedPaths) await notes.put(encryptedPath, encryptedPath).expect(201);
  return notes;
}

/** Inserts live files into the database as the service would have written them. */
async function fill(notes: TestWorkspace, count: number): Promise<string[]> {
  const rows = await service.database.query<{ path: string }>(
    `WITH added AS (
       INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at)
       SELECT $1, gen_random_uuid(), 'file-' || n, gen_random_uuid(), $3, 1, 1, now(), now() FROM generate_series(1, $2::int) n
       RETURNING id, encrypted_path
     ), logged AS (
       INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
       SELECT $1, row_number() OVER (), id, encrypted_path, 'upsert', $3, 1, 1, now(), 'laptop' FROM added
     ), head AS (UPDATE workspaces SET head_cursor = $2, live_files = $2 WHERE id = $1)
     SELECT encrypted_path AS path FROM added`,
    [notes.id, count, sha256('x')],
  );
  return rows.map(({ path }) => path);
}

async function set(
  notes: TestWorkspace,
  column: 'head_cursor' | 'compaction_floor',
  value: number,
): Promise<void> {
  await service.database.query(`UPDATE workspaces SET ${column} = $2 WHERE id = $1`, [notes.id, value]);
}

/** A push or pull body as text: for numbers that JSON.stringify would not write. */
function postText(notes: TestWorkspace, action: 'push' | 'pull', text: string): supertest.Test {
  return notes.user.post(`${notes.path}/sync/${action}`).set('Content-Type', 'application/json').send(text);
}

function push(notes: TestWorkspace, body: object): supertest.Test {
  return notes.user.post(`${notes.path}/sync/push`).send({ deviceId: 'laptop', baseCursor: 0, ...body });
}

function pull(notes: TestWorkspace, body: object): supertest.Test {
  return notes.user.post(`${notes.path}/sync/pull`).send({ deviceId: 'laptop', ...body });
}

const deletion = (encryptedPath: string, fields: object = {}): object => ({
  encryptedPath,
  action: 'delete',
  ...fields,
});

async function expectRefused(notes: TestWorkspace, request: supertest.Test, status = 400): Promise<string> {
  const before = await footprint(service, notes.id);
  const answer = await request;
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({ error: expect.any(String) });
  expect(await footprint(service, notes.id)).toEqual(before);
  return String(answer.body.error);
}

/** The paths of files, changes or conflicts, in their order. */
function pathsOf(...lists: unknown[]): string[] {
  return (lists as { encryptedPath: string }[][]).flat().map(({ encryptedPath }) => encryptedPath);
}

describe('GET sync/status', () => {
  it('returns the head of the log and the number of live files', async () => {
    const notes = await workspace();
    expect(await notes.status()).toEqual({ cursor: 0, fileCount: 0 });
    await notes.put('YQ', 'a').expect(201);
    await notes.put('Yg', 'b').expect(201);
    await notes.put('Yg', 'c').expect(200);
    expect(await notes.status()).toEqual({ cursor: 3, fileCount: 2 });
    await notes.delete('YQ').expect(200);
    expect(await notes.status()).toEqual({ cursor: 4, fileCount: 1 });
    await notes.put('YQ', 'a').expect(200);
    expect(await notes.status()).toEqual({ cursor: 5, fileCount: 2 });
  });

  it('counts each workspace separately', async () => {
    const notes = await workspaceWith('YQ', 'Yg');
    const other = await notes.user.workspace('other');
    await other.put('YQ', 'a').expect(201);
    expect(await other.status()).toEqual({ cursor: 1, fileCount: 1 });
    expect((await other.log()).map(({ encryptedPath }) => encryptedPath)).toEqual(['YQ']);
  });
});

describe('GET sync/snapshot', () => {
  it('returns live files ordered by id, in camelCase', async () => {
    const notes = await workspaceWith('Yw', 'YQ', 'Yg');
    await notes.delete('YQ').expect(200);
    const { body } = await notes.snapshot().expect(200);
    const file = (encryptedPath: string): object => ({
      id: expect.stringMatching(UUID),
      encryptedPath,
      contentHash: sha256(encryptedPath),
      encryptedSize: 2,
      version: 1,
      createdAt: expect.stringMatching(TIME),
      updatedAt: expect.stringMatching(TIME),
    });
    expect(body).toEqual({
      files: [file('Yw'), file('Yg')],
      cursor: 4,
      nextPageCursor: null,
      hasMore: false,
    });
  });

  it('is empty, at cursor 0, for an empty workspace', async () => {
    const { body } = await (await workspace()).snapshot().expect(200);
    expect(body).toEqual({ files: [], cursor: 0, nextPageCursor: null, hasMore: false });
  });

  it('returns pages whose cursor is their last id, and null at the end', async () => {
    const notes = await workspaceWith('YQ', 'Yg', 'Yw', 'ZA');
    const first = (await notes.snapshot({ limit: 2 }).expect(200)).body;
    expect(first).toMatchObject({ hasMore: true, nextPageCursor: first.files[1].id, cursor: 4 });
    const second = (await notes.snapshot({ limit: 2, pageCursor: first.nextPageCursor }).expect(200)).body;
    expect(second).toMatchObject({ hasMore: false, nextPageCursor: null, cursor: 4 });
    expect(pathsOf(first.files, second.files)).toEqual(['YQ', 'Yg', 'Yw', 'ZA']);
  });

  describe('the limit of a snapshot', () => {
    let notes: TestWorkspace;
    beforeAll(async () => {
      notes = await workspace();
      await fill(notes, 1002);
    });

    it.each([
      ['absent', '', 100],
      ['empty', 'limit=', 100],
      ['blank', 'limit=%20', 100],
      ['a word', 'limit=many', 100],
      ['a number and more', 'limit=5x', 100],
      ['NaN', 'limit=NaN', 100],
      ['Infinity', 'limit=Infinity', 100],
      ['-Infinity', 'limit=-Infinity', 100],
      ['beyond the largest number', 'limit=1e999', 100],
      ['given twice', 'limit=5&limit=6', 100],
      ['NUL', 'limit=%00', 100],
      ['1', 'limit=1', 1],
      ['7', 'limit=7', 7],
      ['a fraction, floored', 'limit=2.9', 2],
      ['an exponent', 'limit=1e1', 10],
      ['0, clamped', 'limit=0', 1],
      ['0.9, floored and clamped', 'limit=0.9', 1],
      ['negative, clamped', 'limit=-5', 1],
      ['1000', 'limit=1000', 1000],
      ['1001, clamped', 'limit=1001', 1000],
      ['huge, clamped', 'limit=1e300', 1000],
    ])('that is %s', async (_, query, expected) => {
      const { body } = await notes.user.get(`${notes.path}/sync/snapshot?${query}`).expect(200);
      expect(body.files).toHaveLength(expected);
      expect(body).toMatchObject({ hasMore: true, nextPageCursor: body.files[expected - 1].id });
    });

    it('ends the pages when it is exactly the number of files left', async () => {
      const { body } = await notes.snapshot({ limit: 1000 }).expect(200);
      const rest = (await notes.snapshot({ limit: 2, pageCursor: body.nextPageCursor }).expect(200)).body;
      expect(rest.files).toHaveLength(2);
      expect(rest).toMatchObject({ hasMore: false, nextPageCursor: null });
    });
  });

  it.each([
    'x',
    '1',
    'null',
    '%00',
    `${randomUUID()}0`,
    `%7B${randomUUID()}%7D`,
    `${randomUUID()}&pageCursor=${randomUUID()}`,
  ])('refuses a pageCursor that is not a uuid: %#', async (pageCursor) => {
    const notes = await workspaceWith('YQ');
    await expectRefused(notes, notes.user.get(`${notes.path}/sync/snapshot?pageCursor=${pageCursor}`));
  });

  it('accepts any UUID as a position, even one of another workspace or of no file', async () => {
    const notes = await workspaceWith('YQ', 'Yg');
    const foreign = await workspaceWith('Yw');
    const { files } = (await foreign.snapshot().expect(200)).body;
    const paths = async (pageCursor: string): Promise<string[]> => {
      return pathsOf((await notes.snapshot({ pageCursor }).expect(200)).body.files);
    };
    expect(await paths(files[0].id)).toEqual([]);
    expect(await paths('00000000-0000-0000-0000-000000000000')).toEqual(['YQ', 'Yg']);
    expect(await paths('ffffffff-ffff-ffff-ffff-ffffffffffff')).toEqual([]);
    expect(await paths('')).toEqual(['YQ', 'Yg']);
  });

  it('misses no change between its pages when a pull from the first cursor follows', async () => {
    const notes = await workspaceWith('YQ', 'Yg', 'Yw', 'ZA', 'ZQ', 'Zg');
    const state = new Map<string, string>();
    let firstCursor: number | undefined;
    const meanwhile = [
      () => notes.delete('YQ'), // on a page already walked
      () => notes.put('bmV3', 'new'),
      () => notes.delete('Zg'), // on a page to come
      () => notes.put('Yg', 'edited'),
      () => notes.put('YQ', 'back'),
    ];
    for (let pageCursor: string | undefined; ;) {
      const { body } = await notes.snapshot({ limit: 2, ...(pageCursor ? { pageCursor } : {}) }).expect(200);
      firstCursor ??= body.cursor as number;
      for (const file of body.files) state.set(file.encryptedPath, file.contentHash);
      await meanwhile.shift()?.();
      if (!body.hasMore) break;
      pageCursor = body.nextPageCursor;
    }
    for (const write of meanwhile) await write();

    const { body } = await notes.pull(firstCursor, 1000).expect(200);
    for (const change of body.changes) {
      if (change.action === 'delete') state.delete(change.encryptedPath);
      else state.set(change.encryptedPath, change.contentHash);
    }
    const live = (await notes.list()).map((file) => [file.encrypted_path, file.content_hash] as const);
    expect(state).toEqual(new Map(live));
  });

  it('has a cursor from which a pull finds the next change', async () => {
    const notes = await workspaceWith('YQ');
    const { body } = await notes.snapshot().expect(200);
    await notes.put('Yg', 'b').expect(201);
    expect(body.cursor).toBe(1);
    expect((await notes.pull(body.cursor).expect(200)).body.changes).toHaveLength(1);
  });
});

describe('POST sync/push', () => {
  it('deletes and logs each path in the requested order, and returns them with the head', async () => {
    const notes = await workspaceWith('YQ', 'Yg', 'Yw');
    await notes.put('Yw', 'second version').expect(200);
    const { body } = await notes.push(4, ['Yw', 'YQ'], 'phone').expect(200);
    expect(body).toEqual({ cursor: 6, accepted: ['Yw', 'YQ'], conflicts: [] });
    const row = (encryptedPath: string, content: string, version: number): object => ({
      encryptedPath,
      action: 'delete',
      contentHash: sha256(content),
      encryptedSize: content.length,
      version,
      changedAt: expect.stringMatching(TIME),
      changedByDevice: 'phone',
    });
    expect((await notes.log()).slice(4)).toEqual([row('Yw', 'second version', 2), row('YQ', 'YQ', 1)]);
    expect((await notes.list()).map((file) => file.encrypted_path)).toEqual(['Yg']);
    await expectReplayLaw(notes);
  });

  it('keeps the contents of deleted files', async () => {
    const notes = await workspaceWith('YQ');
    const before = await footprint(service, notes.id);
    await notes.push(1, ['YQ']).expect(200);
    expect(await footprint(service, notes.id)).toEqual({ ...before, changes: 2 });
  });

  it('accepts a path that is absent or already deleted, and logs nothing', async () => {
    const notes = await workspaceWith('YQ');
    await notes.delete('YQ', 'phone').expect(200);
    const { body } = await notes.push(0, ['YQ', 'bmV2ZXI']).expect(200);
    expect(body).toEqual({ cursor: 2, accepted: ['YQ', 'bmV2ZXI'], conflicts: [] });
    expect(await notes.status()).toEqual({ cursor: 2, fileCount: 0 });
  });

  it('counts a duplicate path once', async () => {
    const notes = await workspaceWith('YQ', 'Yg');
    const { body } = await notes.push(2, ['YQ', 'bm8', 'YQ', 'bm8', 'Yg', 'YQ']).expect(200);
    expect(body).toEqual({ cursor: 4, accepted: ['YQ', 'bm8', 'Yg'], conflicts: [] });
    expect(await notes.log()).toHaveLength(4);
  });

  it('accepts hash and size, null or neither, and ignores their values', async () => {
    const notes = await workspaceWith('YQ', 'Yg', 'Yw', 'ZA');
    const changes = [
      deletion('YQ'),
      deletion('Yg', { contentHash: null, encryptedSize: null }),
      deletion('Yw', {
        contentHash: sha256('something else').toUpperCase(),
        encryptedSize: 999,
        version: 99,
        extra: true,
      }),
      deletion('ZA', { contentHash: sha256('ZA'), encryptedSize: 0 }),
    ];
    const { body } = await push(notes, { baseCursor: 4, changes }).expect(200);
    expect(body).toEqual({ cursor: 8, accepted: ['YQ', 'Yg', 'Yw', 'ZA'], conflicts: [] });
    const tombstones = (await notes.log()).slice(4);
    for (const { contentHash, encryptedPath, encryptedSize, version } of tombstones) {
      expect({ contentHash, encryptedSize, version }).toEqual({
        contentHash: sha256(encryptedPath),
        encryptedSize: 2,
        version: 1,
      });
    }
  });

  describe('conflicts', () => {
    it('reports a change by another device after baseCursor, and applies nothing to that path', async () => {
      const notes = await workspaceWith('YQ', 'Yg');
      await notes.put('YQ', 'by phone', 'phone').expect(200);
      const { body } = await notes.push(2, ['YQ', 'Yg']).expect(200);
      expect(body).toEqual({
        cursor: 4,
        accepted: ['Yg'],
        conflicts: [{ encryptedPath: 'YQ', serverVersion: 2, serverContentHash: sha256('by phone') }],
      });
      expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('by phone'));
      await expectReplayLaw(notes);
    });

    it('begins right after baseCursor', async () => {
      const notes = await workspace();
      await notes.put('YQ', 'one', 'phone').expect(201);
      await notes.put('YQ', 'two', 'phone').expect(200);
      expect((await notes.push(1, ['YQ']).expect(200)).body.conflicts).toHaveLength(1);
      expect((await notes.push(2, ['YQ']).expect(200)).body).toEqual({
        cursor: 3,
        accepted: ['YQ'],
        conflicts: [],
      });
    });

    it('does not report the device’s own changes', async () => {
      const notes = await workspaceWith('YQ');
      await notes.put('YQ', 'own edit').expect(200);
      expect((await notes.push(0, ['YQ']).expect(200)).body).toEqual({
        cursor: 3,
        accepted: ['YQ'],
        conflicts: [],
      });
    });

    it('reports a change by another device even if the device itself wrote after it', async () => {
      const notes = await workspaceWith('YQ');
      await notes.put('YQ', 'by phone', 'phone').expect(200);
      await notes.put('YQ', 'own edit').expect(200);
      const { body } = await notes.push(1, ['YQ']).expect(200);
      expect(body).toEqual({
        cursor: 3,
        accepted: [],
        conflicts: [{ encryptedPath: 'YQ', serverVersion: 3, serverContentHash: sha256('own edit') }],
      });
    });

    it('treats a change without a device as one of another device', async () => {
      const notes = await workspaceWith('YQ');
      await service.database.query('UPDATE changes SET changed_by_device = NULL WHERE workspace_id = $1', [
        notes.id,
      ]);
      expect((await notes.push(0, ['YQ']).expect(200)).body.conflicts).toHaveLength(1);
    });

    it('does not report a deletion by another device, since the path is deleted already', async () => {
      const notes = await workspaceWith('YQ');
      await notes.put('YQ', 'by phone', 'phone').expect(200);
      await notes.delete('YQ', 'phone').expect(200);
      expect((await notes.push(1, ['YQ']).expect(200)).body).toEqual({
        cursor: 3,
        accepted: ['YQ'],
        conflicts: [],
      });
    });

    it('lists each path once, in the requested order', async () => {
      const notes = await workspace();
      for (const encryptedPath of ['YQ', 'Yg', 'Yw'])
        await notes.put(encryptedPath, 'x', 'phone').expect(201);
      const { body } = await notes.push(0, ['Yw', 'bm8', 'YQ', 'Yw', 'Yg']).expect(200);
      expect(body.accepted).toEqual(['bm8']);
      expect(pathsOf(body.conflicts)).toEqual(['Yw', 'YQ', 'Yg']);
      expect(body.cursor).toBe(3);
    });
  });

  describe('a retry (rule 3)', () => {
    it('is accepted and writes nothing for a deletion that succeeded', async () => {
      const notes = await workspaceWith('YQ');
      const changes = [deletion('YQ', { contentHash: sha256('YQ') })];
      const landed = await push(notes, { baseCursor: 1, changes }).expect(200);
      const before = await footprint(service, notes.id);
      const again = await push(notes, { baseCursor: 1, changes }).expect(200);
      expect(again.body).toEqual(landed.body);
      expect(await footprint(service, notes.id)).toEqual(before);
    });

    it.each([
      ['with the hash that was deleted', sha256('YQ')],
      ['with that hash in capitals', sha256('YQ').toUpperCase()],
      ['without a hash', null],
    ])('does not delete a path that another device has revived since, %s', async (_, contentHash) => {
      const notes = await workspaceWith('YQ');
      const changes = [deletion('YQ', { contentHash })];
      await push(notes, { baseCursor: 1, changes }).expect(200);
      await notes.put('YQ', 'revived', 'phone').expect(200);
      const { body } = await push(notes, { baseCursor: 1, changes }).expect(200);
      expect(body).toEqual({ cursor: 3, accepted: ['YQ'], conflicts: [] });
      expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('revived'));
    });

    it.each([[['laptop']], [['phone', 'laptop']]])(
      'does not delete a file that the device itself has uploaded since (uploads by %j)',
      async (devices) => {
        const notes = await workspaceWith('YQ');
        const changes = [deletion('YQ', { contentHash: sha256('YQ') })];
        await push(notes, { baseCursor: 1, changes }).expect(200);
        for (const device of devices) await notes.put('YQ', `of ${device}`, device).expect(200);
        const before = await footprint(service, notes.id);
        const { body } = await push(notes, { baseCursor: 1, changes }).expect(200);
        expect(body).toMatchObject({ accepted: ['YQ'], conflicts: [] });
        expect(await footprint(service, notes.id)).toEqual(before);
      },
    );

    it('is a conflict with another hash when the path was revived since', async () => {
      const notes = await workspaceWith('YQ');
      await push(notes, { baseCursor: 1, changes: [deletion('YQ', { contentHash: sha256('YQ') })] }).expect(
        200,
      );
      await notes.put('YQ', 'revived', 'phone').expect(200);
      const changes = [deletion('YQ', { contentHash: sha256('revived') })];
      const { body } = await push(notes, { baseCursor: 1, changes }).expect(200);
      expect(body).toMatchObject({ accepted: [], conflicts: [{ encryptedPath: 'YQ', serverVersion: 2 }] });
    });

    it('is a new deletion when its baseCursor is after the old one', async () => {
      const notes = await workspaceWith('YQ');
      await notes.push(1, ['YQ']).expect(200);
      await notes.put('YQ', 'revived', 'phone').expect(200);
      expect((await notes.push(2, ['YQ']).expect(200)).body.conflicts).toHaveLength(1);
      expect((await notes.push(3, ['YQ']).expect(200)).body).toEqual({
        cursor: 4,
        accepted: ['YQ'],
        conflicts: [],
      });
    });

    it('is not assumed for an upload of that hash by the device, which is deleted', async () => {
      const notes = await workspaceWith('YQ');
      await notes.put('YQ', 'own').expect(200);
      const changes = [deletion('YQ', { contentHash: sha256('own') })];
      const { body } = await push(notes, { baseCursor: 1, changes }).expect(200);
      expect(body).toEqual({ cursor: 3, accepted: ['YQ'], conflicts: [] });
      await notes.get('YQ').expect(404);
    });

    it('is not assumed without a hash after the device itself has revived the path', async () => {
      const notes = await workspaceWith('YQ');
      await notes.push(1, ['YQ']).expect(200);
      await notes.put('YQ', 'back').expect(200);
      expect((await notes.push(1, ['YQ']).expect(200)).body).toEqual({
        cursor: 4,
        accepted: ['YQ'],
        conflicts: [],
      });
    });

    it('is not assumed after a deletion by another device', async () => {
      const notes = await workspaceWith('YQ');
      await notes.push(1, ['YQ'], 'phone').expect(200);
      await notes.put('YQ', 'revived', 'tablet').expect(200);
      expect((await notes.push(1, ['YQ']).expect(200)).body.conflicts).toHaveLength(1);
    });
  });

  describe('rows other than deletions', () => {
    const REFUSAL = 'push accepts delete rows only; content must be uploaded through the file PUT';
    const upsert = { encryptedPath: 'Yg', action: 'upsert' };

    it.each<[string, object]>([
      ['no deviceId', { deviceId: undefined, changes: [upsert] }],
      ['no baseCursor', { baseCursor: undefined, changes: [upsert] }],
      ['a bad path', { changes: [{ ...upsert, encryptedPath: 'a/b' }] }],
      ['no path', { changes: [{ action: 'upsert' }] }],
      ['a bad hash and size', { changes: [{ ...upsert, contentHash: 7, encryptedSize: -1 }] }],
      ['a bad row before it', { changes: [deletion('a/b'), upsert] }],
      ['a row without an action before it', { changes: [{ encryptedPath: 'YQ' }, upsert] }],
      ['rows that are no objects', { changes: [null, 7, [], upsert] }],
      ['1,001 rows', { changes: Array.from({ length: 1001 }, () => upsert) }],
    ])('are refused with the same error whatever else is wrong: %s', async (_, body) => {
      const notes = await workspaceWith('YQ');
      expect(await expectRefused(notes, push(notes, body))).toBe(REFUSAL);
    });

    it.each(['upsert', 'create', 'DELETE', 'delete ', '', 'restore'])(
      'make the whole push 400: action "%s"',
      async (action) => {
        const notes = await workspaceWith('YQ', 'Yg');
        const changes = [
          deletion('YQ'),
          { encryptedPath: 'Yg', action, contentHash: sha256('x'), encryptedSize: 1 },
        ];
        const error = await expectRefused(notes, push(notes, { baseCursor: 2, changes }));
        expect(error).toBe(REFUSAL);
        expect(await notes.status()).toEqual({ cursor: 2, fileCount: 2 });
      },
    );

    it.each([[undefined], [null], [1], [['delete']], [{}]])(
      'make the whole push 400: action %j',
      async (action) => {
        const notes = await workspaceWith('YQ');
        await expectRefused(
          notes,
          push(notes, { changes: [deletion('YQ'), { encryptedPath: 'YQ', action }] }),
        );
        expect(await notes.status()).toEqual({ cursor: 1, fileCount: 1 });
      },
    );
  });

  describe('a push of 1 to 1,000 rows', () => {
    it('deletes a thousand files at once, in the requested order', async () => {
      const notes = await workspace();
      const paths = (await fill(notes, 1000)).sort();
      const { body } = await notes.push(1000, paths).expect(200);
      expect(body).toEqual({ cursor: 2000, accepted: paths, conflicts: [] });
      const { changes } = (await notes.pull(1000, 1000).expect(200)).body;
      expect(pathsOf(changes)).toEqual(paths);
      expect(await notes.status()).toEqual({ cursor: 2000, fileCount: 0 });
    });

    it('accepts a thousand of the longest paths', async () => {
      const notes = await workspace();
      const paths = Array.from({ length: 1000 }, (_, n) => String(n).padEnd(4094, 'x') + '==');
      await notes.put(paths[0]!, 'a').expect(201);
      await notes.put(paths[999]!, 'b').expect(201);
      const changes = paths.map((path) =>
        deletion(path, { contentHash: sha256('a'), encryptedSize: 2 ** 40 }),
      );
      const { body } = await push(notes, { baseCursor: 2, changes }).expect(200);
      expect(body).toEqual({ cursor: 4, accepted: paths, conflicts: [] });
    });

    it('accepts up to 8 MiB, and is 413 beyond', async () => {
      const notes = await workspaceWith('YQ');
      const body = JSON.stringify({ deviceId: 'laptop', baseCursor: 1, changes: [deletion('YQ')] });
      expect((await postText(notes, 'push', body.padEnd(8 * MIB + 1))).status).toBe(413);
      expect(await notes.status()).toEqual({ cursor: 1, fileCount: 1 });
      expect((await postText(notes, 'push', body.padEnd(8 * MIB))).status).toBe(200);
    });

    it('is 400 with none and with 1,001', async () => {
      const notes = await workspaceWith('YQ');
      await expectRefused(notes, push(notes, { changes: [] }));
      const paths = Array.from({ length: 1000 }, (_, n) => `x${n}`);
      await expectRefused(notes, notes.push(1, ['YQ', ...paths]));
      expect((await notes.status()).fileCount).toBe(1);
    });
  });

  it.each<[string, object]>([
    ['no deviceId', { deviceId: undefined }],
    ['deviceId null', { deviceId: null }],
    ['an empty deviceId', { deviceId: '' }],
    ['deviceId of 129 characters', { deviceId: 'd'.repeat(129) }],
    ['deviceId with a space', { deviceId: 'my laptop' }],
    ['deviceId with NUL', { deviceId: 'a\u0000' }],
    ['deviceId above ASCII', { deviceId: 'ä' }],
    ['deviceId a number', { deviceId: 7 }],
    ['deviceId in a list', { deviceId: ['laptop'] }],
    ['no baseCursor', { baseCursor: undefined }],
    ['baseCursor null', { baseCursor: null }],
    ['baseCursor negative', { baseCursor: -1 }],
    ['baseCursor a fraction', { baseCursor: 0.5 }],
    ['baseCursor a text', { baseCursor: '0' }],
    ['baseCursor 1e300', { baseCursor: 1e300 }],
    ['no changes', { changes: undefined }],
    ['changes null', { changes: null }],
    ['changes an object', { changes: { 0: deletion('YQ'), length: 1 } }],
    ['changes a text', { changes: 'YQ' }],
    ['a null row', { changes: [deletion('YQ'), null] }],
    ['a row that is a text', { changes: [deletion('YQ'), 'YQ'] }],
    ['a row that is a number', { changes: [deletion('YQ'), 7] }],
    ['a row that is a list', { changes: [deletion('YQ'), [deletion('YQ')]] }],
    ['an empty row', { changes: [deletion('YQ'), {}] }],
    ['a row without a path', { changes: [deletion('YQ'), { action: 'delete' }] }],
    ['an empty path', { changes: [deletion('YQ'), deletion('')] }],
    ['a path of 4,097 characters', { changes: [deletion('YQ'), deletion('a'.repeat(4097))] }],
    ['a path with a slash', { changes: [deletion('YQ'), deletion('a/b')] }],
    ['a path with NUL', { changes: [deletion('YQ'), deletion('a\u0000')] }],
    ['a path with a line feed at its end', { changes: [deletion('YQ'), deletion('YQ\n')] }],
    ['a path that is all padding', { changes: [deletion('YQ'), deletion('==')] }],
    ['a path that is a number', { changes: [deletion('YQ'), { encryptedPath: 7, action: 'delete' }] }],
    ['a hash of 63 characters', { changes: [deletion('YQ', { contentHash: 'a'.repeat(63) })] }],
    ['a hash that is no text', { changes: [deletion('YQ', { contentHash: 7 })] }],
    ['a negative size', { changes: [deletion('YQ', { encryptedSize: -1 })] }],
    ['a size that is a fraction', { changes: [deletion('YQ', { encryptedSize: 1.5 })] }],
    ['a size that is a text', { changes: [deletion('YQ', { encryptedSize: '5' })] }],
    ['a size of 1e300', { changes: [deletion('YQ', { encryptedSize: 1e300 })] }],
  ])('is 400 as a whole with %s', async (_, body) => {
    const notes = await workspaceWith('YQ');
    await expectRefused(notes, push(notes, { changes: [deletion('YQ')], ...body }));
    expect(await notes.status()).toEqual({ cursor: 1, fileCount: 1 });
  });

  it('is 409 with a baseCursor outside the log, and deletes nothing', async () => {
    const notes = await workspaceWith('YQ', 'Yg', 'Yw');
    const answer = await notes.push(4, ['YQ']).expect(409);
    expect(answer.body).toEqual({ error: expect.any(String), needsBootstrap: true, compactionFloor: 0 });
    await set(notes, 'compaction_floor', 2);
    expect((await notes.push(1, ['YQ']).expect(409)).body).toMatchObject({
      needsBootstrap: true,
      compactionFloor: 2,
    });
    expect((await notes.status()).fileCount).toBe(3);
    await notes.push(2, ['YQ']).expect(200);
  });
});

describe('POST sync/pull', () => {
  it('returns changes after the cursor, oldest first, including those of the device', async () => {
    const notes = await workspaceWith('YQ');
    await notes.put('Yg', 'bb', 'phone').expect(201);
    await notes.put('YQ', 'aaa').expect(200);
    await notes.delete('YQ', 'phone').expect(200);
    const change = (
      encryptedPath: string,
      action: string,
      content: string,
      version: number,
      changedByDevice: string,
    ): object => ({
      ...{ encryptedPath, action, contentHash: sha256(content), encryptedSize: content.length, version },
      ...{ changedAt: expect.stringMatching(TIME), changedByDevice },
    });
    const all = [
      change('YQ', 'upsert', 'YQ', 1, 'laptop'),
      change('Yg', 'upsert', 'bb', 1, 'phone'),
      change('YQ', 'upsert', 'aaa', 2, 'laptop'),
      change('YQ', 'delete', 'aaa', 2, 'phone'),
    ];
    expect((await notes.pull(0).expect(200)).body).toEqual({ changes: all, cursor: 4, hasMore: false });
    expect((await notes.pull(2).expect(200)).body).toEqual({
      changes: all.slice(2),
      cursor: 4,
      hasMore: false,
    });
    expect((await notes.pull(4).expect(200)).body).toEqual({ changes: [], cursor: 4, hasMore: false });
  });

  it('is empty for an empty workspace', async () => {
    const notes = await workspace();
    expect((await notes.pull(0).expect(200)).body).toEqual({ changes: [], cursor: 0, hasMore: false });
  });

  it('continues with the returned cursor while there is more', async () => {
    const notes = await workspaceWith('YQ', 'Yg', 'Yw');
    const first = (await notes.pull(0, 2).expect(200)).body;
    expect(first).toMatchObject({ cursor: 2, hasMore: true });
    const second = (await notes.pull(first.cursor, 2).expect(200)).body;
    expect(second).toMatchObject({ cursor: 3, hasMore: false });
    expect(pathsOf(first.changes, second.changes)).toEqual(['YQ', 'Yg', 'Yw']);
    expect((await notes.pull(1, 2).expect(200)).body).toMatchObject({ cursor: 3, hasMore: false });
  });

  describe('the limit of a pull', () => {
    let notes: TestWorkspace;
    beforeAll(async () => {
      notes = await workspace();
      await fill(notes, 1002);
    });

    it.each([
      ['absent', undefined, 100],
      ['null', 'null', 100],
      ['1', '1', 1],
      ['a fraction, floored', '2.9', 2],
      ['0, clamped', '0', 1],
      ['-0, clamped', '-0', 1],
      ['0.9, floored and clamped', '0.9', 1],
      ['negative, clamped', '-5', 1],
      ['1000', '1000', 1000],
      ['1001, clamped', '1001', 1000],
      ['1e300, clamped', '1e300', 1000],
    ])('that is %s', async (_, limit, expected) => {
      const text = `{"deviceId":"laptop","cursor":0${limit === undefined ? '' : `,"limit":${limit}`}}`;
      const { body } = await postText(notes, 'pull', text).expect(200);
      expect(body.changes).toHaveLength(expected);
      expect(body).toMatchObject({ cursor: expected, hasMore: true });
    });

    it.each(['"5"', '""', 'true', '[5]', '{}', '1e999'])(
      'refuses a limit that is not a number: %s',
      async (limit) => {
        await expectRefused(
          notes,
          postText(notes, 'pull', `{"deviceId":"laptop","cursor":0,"limit":${limit}}`),
        );
      },
    );
  });

  it.each([
    '-1',
    '0.5',
    '1.5',
    '"0"',
    '"5"',
    'null',
    'true',
    '[]',
    '[0]',
    '{}',
    '1e300',
    '1e999',
    '9007199254740992',
  ])('refuses a cursor of %s', async (cursor) => {
    const notes = await workspaceWith('YQ');
    await expectRefused(notes, postText(notes, 'pull', `{"deviceId":"laptop","cursor":${cursor}}`));
  });

  it('accepts the same number in another notation', async () => {
    const notes = await workspaceWith('YQ', 'Yg');
    for (const cursor of ['1.0', '1e0', '10e-1', '0.1e1']) {
      const { body } = await postText(notes, 'pull', `{"deviceId":"laptop","cursor":${cursor}}`).expect(200);
      expect(body).toMatchObject({ cursor: 2, hasMore: false });
      expect(body.changes).toHaveLength(1);
    }
    expect(
      (await postText(notes, 'pull', '{"deviceId":"laptop","cursor":-0}').expect(200)).body.changes,
    ).toHaveLength(2);
  });

  it.each([
    {},
    { deviceId: null },
    { deviceId: '' },
    { deviceId: 'a b' },
    { deviceId: 'd'.repeat(129) },
    { deviceId: 7 },
  ])('refuses a missing or malformed deviceId: %j', async (body) => {
    const notes = await workspaceWith('YQ');
    await expectRefused(notes, pull(notes, { cursor: 0, deviceId: undefined, ...body }));
  });

  describe('a cursor outside the log', () => {
    it('is 409 above the head, as after a restore from a backup', async () => {
      const notes = await workspaceWith('YQ', 'Yg');
      await notes.pull(2).expect(200);
      for (const cursor of [3, MAX_CURSOR, Number.MAX_SAFE_INTEGER]) {
        const { body } = await notes.pull(cursor).expect(409);
        expect(body).toEqual({ error: expect.any(String), needsBootstrap: true, compactionFloor: 0 });
      }
    });

    it('is 409 above the head of an empty log', async () => {
      const notes = await workspace();
      expect((await notes.pull(1).expect(409)).body).toMatchObject({
        needsBootstrap: true,
        compactionFloor: 0,
      });
    });

    it('is 409 within the gap that a restored backup leaves, also for push, but not outside it', async () => {
      const notes = await workspaceWith('YQ', 'Yg');
      await set(notes, 'head_cursor', 1_000_002); // as a restore does: no change has 3 to 1,000,002
      const refused = async (cursor: number): Promise<void> => {
        for (const answer of [notes.pull(cursor), notes.push(cursor, ['YQ'])])
          expect((await answer.expect(409)).body).toMatchObject({ needsBootstrap: true, compactionFloor: 0 });
      };
      await refused(3);
      await refused(1_000_001);
      for (const cursor of [0, 1, 2, 1_000_002]) await notes.pull(cursor).expect(200);
      await notes.put('Yw', 'new').expect(201);
      await refused(3);
      await refused(1_000_001);
      for (const cursor of [2, 1_000_002]) {
        const { changes } = (await notes.pull(cursor).expect(200)).body as { changes: PulledChange[] };
        expect(changes.map(({ encryptedPath }) => encryptedPath)).toEqual(['Yw']);
      }
      for (const cursor of [0, 1_000_003]) await notes.pull(cursor).expect(200);
      await notes.push(2, ['YQ']).expect(200);
    });

    it('is accepted at a floor whose change is deleted, even at the edge of the gap', async () => {
      const notes = await workspaceWith('YQ', 'Yg', 'Yw');
      await set(notes, 'compaction_floor', 3);
      await service.database.query('DELETE FROM changes WHERE workspace_id = $1', [notes.id]);
      await set(notes, 'head_cursor', 1_000_003);
      await notes.pull(3).expect(200);
      await notes.put('ZA', 'new').expect(201);
      expect((await notes.pull(3).expect(200)).body.changes).toHaveLength(1);
      await notes.pull(4).expect(409);
    });

    it('is 409 below the compaction floor, and not on it', async () => {
      const notes = await workspaceWith('YQ', 'Yg', 'Yw', 'ZA', 'ZQ');
      await set(notes, 'compaction_floor', 3);
      for (const cursor of [0, 2]) {
        const { body } = await notes.pull(cursor).expect(409);
        expect(body).toEqual({ error: expect.any(String), needsBootstrap: true, compactionFloor: 3 });
      }
      expect((await notes.pull(3).expect(200)).body.changes).toHaveLength(2);
      expect((await notes.pull(4).expect(200)).body.changes).toHaveLength(1);
      expect((await notes.pull(6).expect(409)).body).toMatchObject({
        needsBootstrap: true,
        compactionFloor: 3,
      });
    });

    it('can be replaced by the cursor of a snapshot', async () => {
      const notes = await workspaceWith('YQ', 'Yg', 'Yw');
      await set(notes, 'compaction_floor', 2);
      await notes.pull(0).expect(409);
      const { body } = await notes.snapshot().expect(200);
      expect(body.files).toHaveLength(3);
      await notes.pull(body.cursor).expect(200);
    });

    it('is accepted with a compaction floor of 0', async () => {
      const notes = await workspaceWith('YQ');
      await set(notes, 'compaction_floor', 0);
      expect((await notes.pull(0).expect(200)).body.changes).toHaveLength(1);
    });
  });
});

describe('cursors', () => {
  it('are compared as numbers across 9 and 10', async () => {
    const notes = await workspace();
    for (let n = 1; n <= 12; n++) await notes.put(`n${n}`, String(n)).expect(201);
    const seen: string[] = [];
    for (let cursor = 7; cursor < 12;) {
      const { body } = await notes.pull(cursor, 1).expect(200);
      seen.push(body.changes[0].encryptedPath);
      expect(body).toMatchObject({ cursor: cursor + 1, hasMore: cursor + 1 < 12 });
      cursor = body.cursor;
    }
    expect(seen).toEqual(['n8', 'n9', 'n10', 'n11', 'n12']);
    expect((await notes.log(5)).map(({ encryptedPath }) => encryptedPath)).toEqual(
      Array.from({ length: 12 }, (_, n) => `n${n + 1}`),
    );
  });

  it.each([98, 2 ** 31 - 2, 2 ** 32 - 2, Number.MAX_SAFE_INTEGER - 4])('pass %d', async (before) => {
    const notes = await workspace();
    await set(notes, 'head_cursor', before);
    await notes.put('YQ', 'a').expect(201);
    await notes.put('Yg', 'b').expect(201);
    const pushed = await notes.push(before + 2, ['YQ', 'Yg']).expect(200);
    expect(pushed.body.cursor).toBe(before + 4);
    expect(await notes.status()).toEqual({ cursor: before + 4, fileCount: 0 });
    expect((await notes.snapshot().expect(200)).body.cursor).toBe(before + 4);

    const actions: string[] = [];
    for (let cursor = before; cursor < before + 4;) {
      const { body } = await notes.pull(cursor, 1).expect(200);
      expect(body).toMatchObject({ cursor: cursor + 1, hasMore: cursor + 1 < before + 4 });
      actions.push(`${body.changes[0].action} ${body.changes[0].encryptedPath}`);
      cursor = body.cursor;
    }
    expect(actions).toEqual(['upsert YQ', 'upsert Yg', 'delete YQ', 'delete Yg']);
  });
});

describe('compression of large pages', () => {
  /** The raw response, since other clients decode it silently. */
  function snapshotOf(of: TestWorkspace, accepted: string): Promise<{ coding?: string; body: Buffer }> {
    const headers = { authorization: `Bearer ${of.user.token}`, 'accept-encoding': accepted };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${service.url}/api/v1/workspaces/${of.id}/sync/snapshot`,
        { headers },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.once('end', () =>
            resolve({ coding: answer.headers['content-encoding'] ?? '', body: Buffer.concat(chunks) }),
          );
        },
      );
      outgoing.once('error', reject).end();
    });
  }

  it('uses brotli for clients that accept it by name, and nothing else', async () => {
    const large = await workspace();
    for (let i = 0; i < 60; i++) await large.put(`note-${i}`, 'text', 'd').expect(201);
    const plain = await snapshotOf(large, 'gzip, deflate');
    expect(plain.coding).toBe('');
    const compressed = await snapshotOf(large, 'gzip, deflate, br;q=0.9');
    expect(compressed.coding).toBe('br');
    expect(compressed.body.length).toBeLessThan(plain.body.length / 2);
    expect(String(brotliDecompressSync(compressed.body))).toBe(String(plain.body));
    for (const accepted of ['*', 'br;q=0', 'brotli', ''])
      expect((await snapshotOf(large, accepted)).coding).toBe('');
  });

  it('leaves small pages uncompressed', async () => {
    const small = await workspace();
    await small.put('note', 'text', 'd').expect(201);
    expect((await snapshotOf(small, 'br')).coding).toBe('');
  });
});
