import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import supertest from 'supertest';
import { FileContentLoader } from '../../../src/domain/files/files.service.js';
import { Database } from '../../../src/platform/database/index.js';
import { NotFound } from '../../../src/platform/http/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { footprint } from '../../kit/footprint.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { headOf, openSocket } from '../../kit/raw-http.js';
import { MIB, expectFlat, useFileRequests } from '../../kit/file-requests.js';

const requests = useFileRequests();
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** By hash: jest takes half a second to compare large buffers. */
function expectSameBytes(body: unknown, content: Buffer): void {
  expect({ size: (body as Buffer).length, hash: sha256(body as Buffer) }).toEqual({
    size: content.length,
    hash: sha256(content),
  });
}

describe.each([
  ['inline', randomBytes(1000)],
  ['in the store', randomBytes(200_000)],
])('GET file, %s', (_, content) => {
  const size = content.length;
  const etag = `"${sha256(content)}"`;
  let notes: TestWorkspace;
  beforeAll(async () => {
    notes = await requests.workspace();
    await notes.put('YQ', content).expect(201);
  });

  function get(headers: Record<string, string> = {}): supertest.Test {
    return notes.get('YQ').set(headers);
  }
  function head(headers: Record<string, string> = {}): supertest.Test {
    return notes.user.request('head', notes.file('YQ')).set(headers);
  }

  it('returns the bytes with their type, length and ETag', async () => {
    const { body, headers } = await get().expect(200);
    expectSameBytes(body, content);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'accept-ranges': 'bytes',
      etag,
    });
    expect(headers['cache-control']).toMatch(/private/);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const whole = await get().expect(200);
    const answer = await head().expect(200);
    expect(answer.text).toBeFalsy();
    const own = { date: '', 'x-request-id': '' };
    expect({ ...answer.headers, ...own }).toEqual({ ...whole.headers, ...own });
  });

  it.each([
    ['the tag', etag],
    ['the tag as a weak one', `W/${etag}`],
    ['a list with the tag', `"other", ${etag}`],
    ['*', '*'],
  ])('is 304 without a body for If-None-Match with %s', async (_, condition) => {
    for (const request of [get, head]) {
      const answer = await request({ 'If-None-Match': condition }).expect(304);
      expect(answer.headers.etag).toBe(etag);
      expect(answer.headers['content-length']).toBeUndefined();
    }
    await get({ 'If-None-Match': condition, Range: 'bytes=0-0' }).expect(304);
  });

  it.each(['"other"', sha256(content), '"*"', '""', 'nonsense', ''])(
    'is 200 for If-None-Match: %s',
    async (condition) => {
      expectSameBytes((await get({ 'If-None-Match': condition }).expect(200)).body, content);
    },
  );

  it.each([
    ['the first byte', 'bytes=0-0', 0, 0],
    ['the last byte', `bytes=${size - 1}-${size - 1}`, size - 1, size - 1],
    ['a part', 'bytes=10-19', 10, 19],
    ['the rest from a byte on', `bytes=${size - 7}-`, size - 7, size - 1],
    ['the last bytes', 'bytes=-7', size - 7, size - 1],
    ['more last bytes than there are', `bytes=-${size + 1}`, 0, size - 1],
    ['an end beyond the end', `bytes=5-${size * 2}`, 5, size - 1],
    ['everything', 'bytes=0-', 0, size - 1],
  ])('answers a range with 206: %s', async (_, range, start, end) => {
    const { body, headers } = await get({ Range: range }).expect(206);
    expect(headers['content-range']).toBe(`bytes ${start}-${end}/${size}`);
    expect(headers['content-length']).toBe(String(end - start + 1));
    expect(headers.etag).toBe(etag);
    expectSameBytes(body, content.subarray(start, end + 1));
  });

  it.each([`bytes=${size}-`, `bytes=${size}-${size}`, 'bytes=999999999-', 'bytes=-0'])(
    'is 416 for a range outside the file: %s',
    async (range) => {
      const { headers, body } = await get({ Range: range }).expect(416);
      expect(headers['content-range']).toBe(`bytes */${size}`);
      expect(JSON.parse(String(body))).toEqual({ error: expect.any(String) });
    },
  );

  it.each([
    'bytes=0-0,5-9',
    'bytes=0-0, -1',
    'lines=0-1',
    'bytes',
    'bytes=',
    'bytes=a-b',
    'bytes=9-5',
    '0-5',
    '',
  ])('is the whole file for several ranges, other units and an invalid range: %s', async (range) => {
    const { body, headers } = await get({ Range: range }).expect(200);
    expect(headers['content-range']).toBeUndefined();
    expect(headers['content-length']).toBe(String(size));
    expectSameBytes(body, content);
  });

  it('honours If-Range for this version only', async () => {
    const Range = 'bytes=0-9';
    expect((await get({ Range, 'If-Range': etag }).expect(206)).body).toEqual(content.subarray(0, 10));
    for (const other of ['"other"', `W/${etag}`, new Date().toUTCString(), 'nonsense']) {
      expectSameBytes((await get({ Range, 'If-Range': other }).expect(200)).body, content);
    }
    await get({ 'If-Range': etag }).expect(200);
  });

  it('ignores ranges for HEAD and returns the whole length', async () => {
    for (const range of ['bytes=0-9', `bytes=${size}-`]) {
      const { headers } = await head({ Range: range }).expect(200);
      expect(headers['content-length']).toBe(String(size));
      expect(headers['content-range']).toBeUndefined();
    }
  });
});

describe('GET file', () => {
  it('returns the right content or 404 for each of 80 concurrent requests', async () => {
    const notes = await requests.workspace();
    const paths = Array.from({ length: 40 }, (_, i) => `path-${i}`);
    for (const path of paths.filter((_, i) => i % 3 !== 0)) await notes.put(path, `content of ${path}`);
    const answers = await Promise.all([...paths, ...paths].map((path) => notes.get(path).ok(() => true)));
    answers.forEach(({ status, body }, i) => {
      const isThere = (i % 40) % 3 !== 0;
      expect(status).toBe(isThere ? 200 : 404);
      if (isThere) expect((body as Buffer).toString()).toBe(`content of ${paths[i % 40]}`);
    });
  });

  it('returns the right content or 404 for each read that shares a round trip', async () => {
    const notes = await requests.workspace();
    const paths = Array.from({ length: 40 }, (_, i) => `path-${i}`);
    const isThere = (path: string): boolean => paths.indexOf(path) % 3 === 0;
    for (const path of paths.filter(isThere)) await notes.put(path, `content of ${path}`).expect(201);
    const ref = { id: notes.id, caller: { userId: notes.user.id, needsSubscription: false } };
    const contentLoader = requests.service.app.get(FileContentLoader);
    const run = jest.spyOn(requests.service.app.get(Database), 'run');
    const answers = await Promise.allSettled(paths.map((path) => contentLoader.content(ref, path)));
    const roundTrips = run.mock.calls.filter(([{ name }]) => name === 'files.heads');
    run.mockRestore();
    expect(roundTrips.length).toBeLessThan(paths.length);
    for (const [i, path] of paths.entries()) {
      const expected = isThere(path)
        ? { value: { contentHash: sha256(`content of ${path}`), bytes: Buffer.from(`content of ${path}`) } }
        : { reason: expect.any(NotFound) };
      expect(answers[i]).toMatchObject(expected);
    }
  });

  it('returns the newest version', async () => {
    const notes = await requests.workspace();
    for (const content of ['one', 'two', 'three']) await notes.put('YQ', content);
    const { body, headers } = await notes.get('YQ').expect(200);
    expect(body).toEqual(Buffer.from('three'));
    expect(headers.etag).toBe(`"${sha256('three')}"`);
  });

  it('returns no bytes for an empty file, and 416 for any range of it', async () => {
    const notes = await requests.workspace();
    await notes.put('ZW1wdHk', '').expect(201);
    const { body, headers } = await notes.get('ZW1wdHk').expect(200);
    expect(body).toEqual(Buffer.alloc(0));
    expect(headers).toMatchObject({ 'content-length': '0', etag: `"${sha256('')}"` });
    for (const range of ['bytes=0-', 'bytes=0-0', 'bytes=-1']) {
      const answer = await notes.get('ZW1wdHk').set('Range', range).expect(416);
      expect(answer.headers['content-range']).toBe('bytes */0');
    }
  });

  it('is 404 for an unknown or deleted path, as is HEAD', async () => {
    const notes = await requests.workspace();
    await notes.put('Z29uZQ', 'gone').expect(201);
    await notes.delete('Z29uZQ').expect(200);
    for (const encPath of ['Z29uZQ', 'bmV2ZXI']) {
      const answer = await notes.user.get(notes.file(encPath)).expect(404);
      expect(answer.body).toEqual({ error: 'file not found' });
      expect(answer.headers.etag).toBeUndefined();
      await notes.user.request('head', notes.file(encPath)).expect(404);
      await notes.user.get(notes.file(encPath)).set('If-None-Match', '*').expect(404);
    }
  });

  it("does not find another workspace's file", async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'mine').expect(201);
    const other = await notes.user.workspace('other');
    await other.get('YQ').expect(404);
    await other.delete('YQ').expect(404);
    expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('mine'));
  });

  it('is 500 with an error body when the store has lost the bytes', async () => {
    const notes = await requests.workspace();
    await notes.put('bG9zdA', randomBytes(100_000)).expect(201);
    await rm(join(requests.service.dataDir, 'blobs', notes.id), { recursive: true });
    for (const headers of [{}, { Range: 'bytes=0-9' }]) {
      const answer = await notes.user.get(notes.file('bG9zdA')).set(headers).expect(500);
      expect(answer.body).toEqual({ error: 'Internal server error' });
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(answer.headers.etag).toBeUndefined();
      expect(answer.headers['content-range']).toBeUndefined();
    }
    expect(requests.service.logged()).toContain('missing from the store');
  });
});

describe('a service with INLINE_BLOB_BYTES=0', () => {
  let storeOnly: TestService;
  beforeAll(async () => {
    storeOnly = await startService({ beside: requests.service, env: { INLINE_BLOB_BYTES: '0' } });
  });
  afterAll(() => storeOnly.close());

  it.each([0, 1, 1000, MIB + 1])(
    'keeps a body of %d bytes in the store, where any instance can read it',
    async (size) => {
      const notes = await requests.workspace();
      const there = notes.as(notes.user.at(storeOnly.url));
      const content = randomBytes(size);
      await there.put('YQ', content).expect(201);
      await there.put('YQ', content).expect(200);
      expect(await footprint(requests.service, notes.id)).toMatchObject({ blobs: 1, onDisk: [size] });
      for (const at of [notes, there])
        expect(sha256((await at.get('YQ').expect(200)).body as Buffer)).toBe(sha256(content));

      const refused = await there.put('YQ', `${size}`).set('X-Content-Hash', sha256('other'));
      expect(refused.status).toBe(400);
      expect(await footprint(requests.service, notes.id)).toMatchObject({ blobs: 1, onDisk: [size] });
    },
  );
});

describe('DELETE file', () => {
  it('removes the file from every view and keeps its versions', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'second').expect(200);
    const before = await footprint(requests.service, notes.id);
    const { body } = await notes.delete('YQ', 'phone').expect(200);
    expect(body).toEqual({ ok: true });

    await notes.get('YQ').expect(404);
    expect(await notes.list()).toEqual([]);
    expect(await notes.status()).toEqual({ cursor: 3, fileCount: 0 });
    expect(await footprint(requests.service, notes.id)).toEqual({ ...before, changes: 3 });
    expect((await notes.log()).at(-1)).toEqual({
      encryptedPath: 'YQ',
      action: 'delete',
      contentHash: sha256('second'),
      encryptedSize: 6,
      version: 2,
      changedAt: expect.stringMatching(TIME),
      changedByDevice: 'phone',
    });
  });

  it('is 404 for an unknown and for a deleted file', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.delete('YQ').expect(200);
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await notes.delete('YQ'), 404);
      expectFlat(await notes.delete('bmV2ZXI'), 404);
    });
    expect((await notes.status()).cursor).toBe(2);
  });

  it('deletes the file once for eight concurrent requests', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => notes.delete('YQ', `device-${n}`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(7);
    expect(await notes.status()).toEqual({ cursor: 2, fileCount: 0 });
  });

  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['an empty one', { 'X-Device-Id': '' }],
    ['129 characters', { 'X-Device-Id': 'd'.repeat(129) }],
    ['a blank in it', { 'X-Device-Id': 'my laptop' }],
  ])('needs an X-Device-Id: with %s it is 400', async (_, headers) => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await notes.user.delete(notes.file('YQ')).set(headers), 400);
    });
    await notes.get('YQ').expect(200);
  });
});

describe('GET files', () => {
  it('lists the live files in snake_case, oldest first', async () => {
    const notes = await requests.workspace();
    const ids: string[] = [];
    for (const encPath of ['Yw', 'YQ', 'Yg', 'Z29uZQ'])
      ids.push((await notes.put(encPath, encPath).expect(201)).body.id);
    requests.service.clock.advance(1000);
    await notes.put('YQ', Buffer.alloc(100_000)).expect(200);
    await notes.delete('Z29uZQ').expect(200);

    const { body } = await notes.user.get(`${notes.path}/files`).expect(200);
    const item = (index: number, encPath: string, content: Buffer | string, version: number): object => ({
      id: ids[index],
      encrypted_path: encPath,
      content_hash: sha256(content),
      encrypted_size: content.length,
      version,
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
    });
    expect(body).toEqual({
      files: [item(0, 'Yw', 'Yw', 1), item(1, 'YQ', Buffer.alloc(100_000), 2), item(2, 'Yg', 'Yg', 1)],
    });
    const [first, second] = body.files;
    expect(first.updated_at).toBe(first.created_at);
    expect(Date.parse(second.updated_at)).toBeGreaterThanOrEqual(Date.parse(second.created_at) + 1000);
  });

  it('is empty at first', async () => {
    const notes = await requests.workspace();
    const { body } = await notes.user.get(`${notes.path}/files`).expect(200);
    expect(body).toEqual({ files: [] });
  });

  it('lists a revived file again, with its first id and creation time', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    const [before] = await notes.list();
    await notes.delete('YQ').expect(200);
    await notes.put('YQ', 'two').expect(200);
    expect(await notes.list()).toEqual([
      { ...before, content_hash: sha256('two'), version: 2, updated_at: expect.stringMatching(TIME) },
    ]);
  });
});

describe('GET files with many files', () => {
  /** Rows as uploads leave them, every tenth deleted, with ids in another order than the paths. */
  async function withFiles(count: number, pathLength: number): Promise<TestWorkspace> {
    const notes = await requests.workspace();
    await requests.service.database.query(
      `INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, is_deleted, created_at, updated_at)
       SELECT $1, gen_random_uuid(), rpad(n::text, $3, 'A'), gen_random_uuid(), repeat('a', 64), n, 1 + n % 3, n % 10 = 0, now(), now()
       FROM generate_series(1, $2::int) n`,
      [notes.id, count, pathLength],
    );
    return notes;
  }

  /** Counts the pages that are read from now on. */
  function countPages(): { count: number; stop: () => void } {
    const database = requests.service.app.get(Database);
    const run = database.run.bind(database);
    const pages = { count: 0, stop: () => void Object.assign(database, { run }) };
    database.run = (statement, values) => {
      if (statement.name === 'files.page') pages.count++;
      return run(statement, values);
    };
    return pages;
  }

  it.each([999, 1000, 1111, 3333])('lists each live file of %d once, ordered by id', async (count) => {
    const notes = await withFiles(count, 8);
    const rows = await requests.service.database.query<
      Record<string, unknown> & { created_at: Date; updated_at: Date }
    >(
      `SELECT id, encrypted_path, content_hash, encrypted_size::int, version, created_at, updated_at
       FROM files WHERE workspace_id = $1 AND NOT is_deleted ORDER BY id`,
      [notes.id],
    );
    const files = rows.map((row) => ({
      ...row,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }));
    expect(files).toHaveLength(count - Math.floor(count / 10));
    const pages = countPages();
    const { text, headers } = await notes.user.get(`${notes.path}/files`).expect(200);
    pages.stop();
    expect(pages.count).toBe(1 + Math.floor(files.length / 1000));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(text === JSON.stringify({ files })).toBe(true);
  });

  it('waits for a slow client, and stops when it disconnects', async () => {
    const notes = await withFiles(20_000, 4000); // 18 pages, 80 MB: more than the sockets' buffers take
    const pages = countPages();
    const socket = openSocket(requests.service.url);
    const Authorization = `Bearer ${notes.user.token}`;
    socket.write(headOf('GET', `${notes.path}/files`, { Host: 'x', Authorization }));
    await new Promise((resolve) => socket.once('readable', resolve));
    let before = -1;
    while (before !== pages.count) {
      before = pages.count;
      for (let n = 0; n < 10; n++) await notes.status();
    }
    expect(pages.count).toBeLessThan(10);
    socket.destroy();
    for (let n = 0; n < 20; n++) await notes.status();
    pages.stop();
    expect(pages.count).toBeLessThanOrEqual(before + 1);
  });

  it('is cut off when the database fails between two pages, and is 500 when it fails before', async () => {
    const notes = await withFiles(2500, 8);
    const database = requests.service.app.get(Database);
    const run = database.run.bind(database);
    const failAt = (page: number): void => {
      let pages = 0;
      database.run = (statement, values) =>
        statement.name === 'files.page' && ++pages === page
          ? Promise.reject(new Error('the database is away'))
          : run(statement, values);
    };
    try {
      failAt(2);
      await expect(notes.user.get(`${notes.path}/files`)).rejects.toThrow('aborted');
      failAt(1);
      expectFlat(await notes.user.get(`${notes.path}/files`), 500);
    } finally {
      Object.assign(database, { run });
    }
  });

  it('is cut off when the workspace is deleted between two pages', async () => {
    const notes = await withFiles(2500, 8);
    const database = requests.service.app.get(Database);
    const run = database.run.bind(database);
    let pages = 0;
    database.run = async (statement, values) => {
      if (statement.name === 'files.page' && ++pages === 2) {
        await notes.user.delete(notes.path).expect(200);
        await requests.service.app.get(WorkspacePurge).idle();
      }
      return run(statement, values);
    };
    try {
      await expect(notes.user.get(`${notes.path}/files`)).rejects.toThrow('aborted');
    } finally {
      Object.assign(database, { run });
    }
  });

  it('answers HEAD with the type and no body', async () => {
    const notes = await withFiles(10, 8);
    const answer = await notes.user.request('head', `${notes.path}/files`).expect(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.text).toBeFalsy();
  });
});
