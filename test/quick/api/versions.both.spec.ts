import { randomBytes, randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import {
  type ListedVersion,
  sha256,
  startService,
  type TestService,
  type TestUser,
  TestWorkspace,
} from '../../kit/index.js';
import { expectDenseLogs, expectReplayLaw, scrub } from '../../kit/oracles.js';
import { type RawAnswer, sendRaw } from '../../kit/raw-http.js';
import { itDeep } from '../../kit/rounds.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

let names = 0;
/** A workspace of a new user. */
async function workspace(at = service): Promise<TestWorkspace> {
  return (await at.user(`versions-${++names}`)).workspace();
}

/** The id of a path's version, by its number. */
async function idOf(notes: TestWorkspace, encryptedPath: string, version = 1): Promise<string> {
  const found = (await notes.versions(encryptedPath)).find((one) => one.version === version);
  return found!.id;
}

async function withScopes(notes: TestWorkspace, ...scopes: string[]): Promise<TestWorkspace> {
  const mint = notes.user.post('/api/v1/auth/tokens').send({ name: 'test', scopes });
  const { body } = await mint.expect(201);
  return notes.as(notes.user.at(service.url, body.token));
}

/** Ends the user's trial directly in the database. */
async function endSubscription({ id }: TestUser): Promise<void> {
  await service.database.query(`UPDATE subscriptions SET status = 'expired' WHERE user_id = $1`, [id]);
}

/** Runs requests that must be refused, and checks that they have changed nothing. */
async function expectNothingChanged(notes: TestWorkspace, refused: () => Promise<void>): Promise<void> {
  const state = async (): Promise<unknown> => [await footprint(service, notes.id), await filesOf(notes)];
  const before = await state();
  await refused();
  expect(await state()).toEqual(before);
}

function filesOf({ id }: TestWorkspace): Promise<unknown> {
  const sql = `SELECT f.*, w.head_cursor, w.live_files FROM files f JOIN workspaces w ON w.id = f.workspace_id
               WHERE w.id = $1 ORDER BY f.id`;
  return service.database.query(sql, [id]);
}

/** By hash: jest takes half a second to compare large buffers. */
function expectSameBytes(body: unknown, content: Buffer): void {
  expect({ size: (body as Buffer).length, hash: sha256(body as Buffer) }).toEqual({
    size: content.length,
    hash: sha256(content),
  });
}

/** A response without its date and request id. */
function comparable({ status, headers, text }: supertest.Response): unknown {
  return { status, headers: { ...headers, date: '', 'x-request-id': '' }, text };
}

describe('GET versions', () => {
  it('lists every version of the path, newest first, in snake_case except changeCursor', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'first', 'laptop').expect(201);
    await notes.put('Yg', 'another path').expect(201);
    service.clock.advance(1000);
    await notes.put('YQ', 'second!', 'phone').expect(200);
    const { body } = await notes.user.get(`${notes.file('YQ')}/versions`).expect(200);
    const [newer, older] = body.versions as ListedVersion[];
    expect(body).toEqual({
      versions: [
        {
          id: expect.stringMatching(UUID),
          version: 2,
          content_hash: sha256('second!'),
          encrypted_size: 7,
          device_id: 'phone',
          created_at: expect.stringMatching(TIME),
          changeCursor: 3,
        },
        {
          id: expect.stringMatching(UUID),
          version: 1,
          content_hash: sha256('first'),
          encrypted_size: 5,
          device_id: 'laptop',
          created_at: expect.stringMatching(TIME),
          changeCursor: 1,
        },
      ],
    });
    expect(newer!.id).not.toBe(older!.id);
    expect(Date.parse(newer!.created_at) - Date.parse(older!.created_at)).toBeGreaterThanOrEqual(1000);
  });

  it('sorts numerically by version, whatever the clock says', async () => {
    const notes = await workspace();
    for (let i = 1; i <= 12; i++) {
      service.clock.advance(i % 2 ? -60_000 : 60_000);
      await notes.put('YQ', `content ${i}`);
    }
    const versions = await notes.versions('YQ');
    const countdown = Array.from({ length: 12 }, (_, i) => 12 - i);
    expect(versions.map(({ version }) => version)).toEqual(countdown);
    expect(versions.map(({ changeCursor }) => changeCursor)).toEqual(countdown);
  });

  it('keeps the list when the path is deleted, and continues it when it is revived', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'two').expect(200);
    const before = await notes.versions('YQ');
    await notes.delete('YQ').expect(200);
    expect(await notes.versions('YQ')).toEqual(before);
    await notes.put('YQ', 'two').expect(200);
    const [newest, ...others] = await notes.versions('YQ');
    expect(newest).toMatchObject({ version: 3, changeCursor: 4, content_hash: sha256('two') });
    expect(others).toEqual(before);
  });

  it('returns null as the cursor of a row that is older than the column', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'two').expect(200);
    await service.database.query(
      'UPDATE versions SET change_cursor = NULL, device_id = NULL WHERE workspace_id = $1 AND version = 1',
      [notes.id],
    );
    const [newer, older] = await notes.versions('YQ');
    expect(newer).toMatchObject({ changeCursor: 2, device_id: 'laptop' });
    expect(older).toMatchObject({ changeCursor: null, device_id: null });
    expect((await notes.version('YQ', older!.id).expect(200)).body).toEqual(Buffer.from('one'));
    expect((await notes.restore('YQ', older!.id).expect(200)).body.version).toBe(3);
    expect((await notes.versions('YQ'))[0]).toMatchObject({ version: 3, changeCursor: 3 });
  });

  it('is 404 for a path that was never seen, here or only in another workspace', async () => {
    const notes = await workspace();
    const other = await notes.user.workspace('other');
    await other.put('YQ', 'there').expect(201);
    for (const encPath of ['YQ', 'bmV2ZXI', 'a'.repeat(4096)]) {
      const { body } = await notes.user.get(`${notes.file(encPath)}/versions`).expect(404);
      expect(body).toEqual({ error: 'file not found' });
    }
  });

  it.each([
    ['=', '='],
    ['three =', 'a==='],
    ['a dot', 'a.b'],
    ['dots', '..'],
    ['escaped dots', '%2E%2E'],
    ['an escaped slash', 'a%2Fb'],
    ['NUL', '%00'],
    ['an escaped umlaut', '%C3%A4'],
    ['4,097 characters', 'a'.repeat(4097)],
  ])('is 400 for an invalid path: %s; so are version and restore', async (_, encPath) => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const id = await idOf(notes, 'YQ');
    await expectNothingChanged(notes, async () => {
      const answers: RawAnswer[] = [];
      for (const [method, rest] of [
        ['GET', 'versions'],
        ['GET', `versions/${id}`],
        ['POST', `restore/${id}`],
      ] as const) {
        const headers = { Authorization: `Bearer ${notes.user.token}` };
        answers.push(await sendRaw(service.url, { method, path: `${notes.file(encPath)}/${rest}`, headers }));
      }
      for (const { status, body } of answers) {
        expect(status).toBe(400);
        expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
      }
    });
  });

  it('accepts the longest path', async () => {
    const notes = await workspace();
    const longest = `${'a'.repeat(4094)}==`;
    await notes.put(longest, 'one').expect(201);
    await notes.put(longest, 'two').expect(200);
    const id = await idOf(notes, longest);
    expect((await notes.version(longest, id).expect(200)).body).toEqual(Buffer.from('one'));
    expect((await notes.restore(longest, id).expect(200)).body.version).toBe(3);
  });
});

describe.each([
  ['inline', randomBytes(1000)],
  ['in the store', randomBytes(200_000)],
])('GET version, %s', (_, content) => {
  const size = content.length;
  const etag = `"${sha256(content)}"`;
  let notes: TestWorkspace;
  let id: string;
  beforeAll(async () => {
    notes = await workspace();
    await notes.put('YQ', content).expect(201);
    await notes.put('YQ', 'newer').expect(200);
    await notes.delete('YQ').expect(200);
    id = await idOf(notes, 'YQ');
  });

  function get(headers: Record<string, string> = {}): supertest.Test {
    return notes.version('YQ', id).set(headers);
  }
  function head(headers: Record<string, string> = {}): supertest.Test {
    return notes.user.request('head', `${notes.file('YQ')}/versions/${id}`).set(headers);
  }

  it('returns the bytes with their type, length and ETag, even of a deleted path', async () => {
    const { body, headers } = await get().expect(200);
    expectSameBytes(body, content);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'accept-ranges': 'bytes',
      'cache-control': expect.stringMatching(/private/),
      etag,
    });
    await notes.get('YQ').expect(404);
  });

  it('accepts the id in capitals', async () => {
    expectSameBytes((await notes.version('YQ', id.toUpperCase()).expect(200)).body, content);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const whole = await get().expect(200);
    const answer = await head().expect(200);
    expect(answer.text).toBeFalsy();
    const own = { date: '', 'x-request-id': '' };
    expect({ ...answer.headers, ...own }).toEqual({ ...whole.headers, ...own });
  });

  it('is 304 without a body for If-None-Match with its own tag', async () => {
    for (const request of [get, head]) {
      for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const answer = await request({ 'If-None-Match': condition }).expect(304);
        expect(answer.headers.etag).toBe(etag);
        expect(answer.headers['content-length']).toBeUndefined();
      }
    }
    for (const condition of [`"${sha256('newer')}"`, 'nonsense', '']) {
      expectSameBytes((await get({ 'If-None-Match': condition }).expect(200)).body, content);
    }
  });

  it.each([
    ['the first byte', 'bytes=0-0', 0, 0],
    ['a part', 'bytes=10-19', 10, 19],
    ['the rest from a byte on', `bytes=${size - 7}-`, size - 7, size - 1],
    ['the last bytes', 'bytes=-7', size - 7, size - 1],
    ['an end beyond the end', `bytes=5-${size * 2}`, 5, size - 1],
  ])('answers a range with 206: %s', async (_name, range, start, end) => {
    const { body, headers } = await get({ Range: range }).expect(206);
    expect(headers['content-range']).toBe(`bytes ${start}-${end}/${size}`);
    expect(headers['content-length']).toBe(String(end - start + 1));
    expect(headers.etag).toBe(etag);
    expectSameBytes(body, content.subarray(start, end + 1));
  });

  it.each([`bytes=${size}-`, 'bytes=-0'])('is 416 for a range outside the version: %s', async (range) => {
    const { headers, body } = await get({ Range: range }).expect(416);
    expect(headers['content-range']).toBe(`bytes */${size}`);
    expect(JSON.parse(String(body))).toEqual({ error: expect.any(String) });
  });

  it('honours If-Range for this version only', async () => {
    const Range = 'bytes=0-9';
    expect((await get({ Range, 'If-Range': etag }).expect(206)).body).toEqual(content.subarray(0, 10));
    expectSameBytes((await get({ Range, 'If-Range': `"${sha256('newer')}"` }).expect(200)).body, content);
  });
});

describe('a version id that does not belong to this path', () => {
  const FORM = randomUUID();

  it('is the same 404 for each kind of id, and writes nothing', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    await notes.put('Yg', 'b').expect(201);
    const other = await notes.user.workspace('other');
    await other.put('YQ', 'a').expect(201);
    const stranger = await workspace();
    await stranger.put('YQ', 'a').expect(201);
    const [file] = await service.database.query<{ id: string }>(
      'SELECT id FROM files WHERE workspace_id = $1',
      [notes.id],
    );

    const none = {
      'another path': await idOf(notes, 'Yg'),
      'another workspace of the same user': await idOf(other, 'YQ'),
      'a workspace of another user': await idOf(stranger, 'YQ'),
      'a file, not a version': file!.id,
      unknown: randomUUID(),
      nil: '00000000-0000-0000-0000-000000000000',
      word: 'latest',
      number: '1',
      'too long': `${FORM}0`,
      'without dashes': FORM.replaceAll('-', ''),
      'in braces': `%7B${FORM}%7D`,
      'with a line feed': `${FORM}%0A`,
      NUL: '%00',
      emoji: '%F0%9F%97%92',
      'very long': 'a'.repeat(4000),
    };
    await expectNothingChanged(notes, async () => {
      for (const method of ['get', 'post'] as const) {
        const kind = method === 'get' ? 'versions' : 'restore';
        const answers = new Map<string, unknown>();
        for (const [name, id] of Object.entries(none)) {
          answers.set(
            name,
            comparable(await notes.user.request(method, `${notes.file('YQ')}/${kind}/${id}`)),
          );
        }
        const absent = answers.get('unknown');
        expect(absent).toMatchObject({ status: 404, text: '{"error":"version not found"}' });
        for (const [name, answer] of answers) expect([name, answer]).toEqual([name, absent]);
      }
    });
  });

  it('is 404 also when the path was never seen', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const id = await idOf(notes, 'YQ');
    await expectNothingChanged(notes, async () => {
      await notes.version('bmV2ZXI', id).expect(404);
      await notes.restore('bmV2ZXI', id).expect(404);
    });
  });

  it('gives no access to the workspace of another user', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const id = await idOf(notes, 'YQ');
    const mallory = (await workspace()).user;
    await expectNothingChanged(notes, async () => {
      for (const [method, rest] of [
        ['get', 'versions'],
        ['get', `versions/${id}`],
        ['post', `restore/${id}`],
      ] as const) {
        const foreign = await mallory.request(method, `${notes.file('YQ')}/${rest}`);
        const absent = await mallory.request(
          method,
          `${new TestWorkspace(mallory, randomUUID()).file('YQ')}/${rest}`,
        );
        expect(foreign.text).toBe('{"error":"workspace not found"}');
        expect(comparable(foreign)).toEqual(comparable(absent));
      }
    });
  });
});

describe('POST restore', () => {
  it.each([
    ['inline', Buffer.from('old content')],
    ['in the store', randomBytes(150_000)],
  ])('creates one version and one change row, and shares the stored bytes: %s', async (_, content) => {
    const notes = await workspace();
    const put = await notes.put('YQ', content).expect(201);
    await notes.put('YQ', 'newer').expect(200);
    const before = await footprint(service, notes.id);
    const history = await notes.versions('YQ');

    const { body } = await notes.restore('YQ', history[1]!.id, 'tablet').expect(200);
    expect(body).toEqual({
      id: put.body.id,
      version: 3,
      contentHash: sha256(content),
      encryptedSize: content.length,
    });
    expect(await footprint(service, notes.id)).toEqual({ ...before, versions: 3, changes: 3 });
    const [restored, ...others] = await notes.versions('YQ');
    expect(restored).toEqual({
      id: expect.stringMatching(UUID),
      version: 3,
      content_hash: sha256(content),
      encrypted_size: content.length,
      device_id: 'tablet',
      created_at: expect.stringMatching(TIME),
      changeCursor: 3,
    });
    expect(others).toEqual(history); // earlier versions are unchanged
    expect((await notes.log()).at(-1)).toEqual({
      encryptedPath: 'YQ',
      action: 'upsert',
      contentHash: sha256(content),
      encryptedSize: content.length,
      version: 3,
      changedAt: restored!.created_at,
      changedByDevice: 'tablet',
    });
    const blobs = await service.database.query<{ blob_id: string }>(
      'SELECT blob_id FROM versions WHERE workspace_id = $1 AND version IN (1, 3)',
      [notes.id],
    );
    expect(new Set(blobs.map(({ blob_id }) => blob_id)).size).toBe(1);

    const head = await notes.get('YQ').expect(200);
    expect(head.headers.etag).toBe(`"${sha256(content)}"`);
    expectSameBytes(head.body, content);
    expectSameBytes((await notes.version('YQ', restored!.id).expect(200)).body, content);
    expect((await notes.version('YQ', others[0]!.id).expect(200)).body).toEqual(Buffer.from('newer'));
    expect(await notes.status()).toEqual({ cursor: 3, fileCount: 1 });
  });

  it('moves updated_at of the file, not created_at', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const [before] = await notes.list();
    service.clock.advance(1000);
    await notes.restore('YQ', await idOf(notes, 'YQ')).expect(200);
    const [after] = await notes.list();
    expect(after).toEqual({ ...before, version: 2, updated_at: expect.stringMatching(TIME) });
    const [restored] = await notes.versions('YQ');
    expect(after).toMatchObject({ updated_at: restored!.created_at });
    expect(before).not.toMatchObject({ updated_at: restored!.created_at });
  });

  it('revives a deleted path with the same id', async () => {
    const notes = await workspace();
    const put = await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'two').expect(200);
    await notes.put('Yg', 'stays').expect(201);
    await notes.delete('YQ').expect(200);
    expect(await notes.status()).toEqual({ cursor: 4, fileCount: 1 });

    const { body } = await notes.restore('YQ', await idOf(notes, 'YQ')).expect(200);
    expect(body).toEqual({ id: put.body.id, version: 3, contentHash: sha256('one'), encryptedSize: 3 });
    expect(await notes.status()).toEqual({ cursor: 5, fileCount: 2 });
    expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('one'));
    await expectReplayLaw(notes);
  });

  it('restores the newest version of a deleted path, and that of the live head', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.delete('YQ').expect(200);
    const id = await idOf(notes, 'YQ');
    expect((await notes.restore('YQ', id).expect(200)).body.version).toBe(2);
    const current = await idOf(notes, 'YQ', 2);
    expect((await notes.restore('YQ', current).expect(200)).body.version).toBe(3);
    expect((await notes.restore('YQ', id).expect(200)).body.version).toBe(4);
    expect((await notes.log()).map(({ action, version }) => [action, version])).toEqual([
      ['upsert', 1],
      ['delete', 1],
      ['upsert', 2],
      ['upsert', 3],
      ['upsert', 4],
    ]);
    expect((await footprint(service, notes.id)).blobs).toBe(1);
    expect(await notes.status()).toEqual({ cursor: 5, fileCount: 1 });
    await expectReplayLaw(notes);
  });

  it('creates a head that the next upload treats like an uploaded one', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'two').expect(200);
    await notes.restore('YQ', await idOf(notes, 'YQ')).expect(200);
    expect((await notes.put('YQ', 'one').expect(200)).body.version).toBe(3); // the live head's own content
    await notes
      .put('YQ', 'three')
      .set('If-Match', `"${sha256('two')}"`)
      .expect(412);
    const put = notes.put('YQ', 'three').set('If-Match', `"${sha256('one')}"`);
    expect((await put.expect(200)).body.version).toBe(4);
  });

  it('counts as a change of another device for a push with an earlier baseCursor', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one', 'laptop').expect(201);
    const id = await idOf(notes, 'YQ');
    for (const device of ['phone', null]) {
      const { cursor } = await notes.status();
      await notes.restore('YQ', id, device).expect(200);
      const { body } = await notes.push(cursor, ['YQ'], 'laptop').expect(200);
      expect(body).toMatchObject({ accepted: [], conflicts: [{ encryptedPath: 'YQ' }] });
    }
  });

  it('belongs to no device without X-Device-Id', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.restore('YQ', await idOf(notes, 'YQ'), null).expect(200);
    expect((await notes.versions('YQ'))[0]).toMatchObject({ version: 2, device_id: null });
    expect((await notes.log())[1]).toMatchObject({ version: 2, changedByDevice: null });
    await expectReplayLaw(notes);
  });

  it.each([
    ['one character', 'a'],
    ['128 characters', 'd'.repeat(128)],
    ['punctuation', `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`],
  ])('accepts any visible ASCII as the device id: %s', async (_, device) => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.restore('YQ', await idOf(notes, 'YQ'), device).expect(200);
    expect((await notes.log())[1]!.changedByDevice).toBe(device);
  });

  it.each([
    ['empty', ''],
    ['129 characters', 'd'.repeat(129)],
    ['a space', 'my laptop'],
    ['a tab', 'my\tlaptop'],
    ['bytes above ASCII', 'm\u00fcller'],
    ['DEL', 'a\u007f'],
    ['two values', 'a\r\nX-Device-Id: b'],
  ])('with a malformed X-Device-Id is 400 and writes nothing: %s', async (_, device) => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const path = `${notes.file('YQ')}/restore/${await idOf(notes, 'YQ')}`;
    const headers = { Authorization: `Bearer ${notes.user.token}`, 'X-Device-Id': device };
    await expectNothingChanged(notes, async () => {
      const { status, body } = await sendRaw(service.url, { method: 'POST', path, headers });
      expect(status).toBe(400);
      expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
    });
  });

  it('ignores the body', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const path = `${notes.file('YQ')}/restore/${await idOf(notes, 'YQ')}`;
    for (const body of ['{}', '{"version":', '\u0000', 'x'.repeat(2_000_000)]) {
      const headers = { Authorization: `Bearer ${notes.user.token}`, 'Content-Type': 'application/json' };
      expect((await sendRaw(service.url, { method: 'POST', path, headers, body })).status).toBe(200);
    }
    expect(await notes.versions('YQ')).toHaveLength(5);
  });
});

describe('access', () => {
  it('needs no subscription for list, download and restore', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await endSubscription(notes.user);
    await notes.put('YQ', 'two').expect(402);
    const id = await idOf(notes, 'YQ');
    expect((await notes.version('YQ', id).expect(200)).body).toEqual(Buffer.from('one'));
    expect((await notes.restore('YQ', id).expect(200)).body.version).toBe(2);
  });

  it('needs documents:read to read and documents:write to restore; neither implies the other', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const id = await idOf(notes, 'YQ');
    const reader = await withScopes(notes, 'documents:read');
    const writer = await withScopes(notes, 'documents:write');
    const neither = await withScopes(notes, 'assets:read', 'assets:write', 'agent:invoke');
    await expectNothingChanged(notes, async () => {
      await reader.version('YQ', id).expect(200);
      expect(await reader.versions('YQ')).toHaveLength(1);
      for (const refused of [
        reader.restore('YQ', id),
        writer.version('YQ', id),
        writer.user.get(`${notes.file('YQ')}/versions`),
        neither.restore('YQ', id),
        neither.version('YQ', id),
      ]) {
        expect((await refused).status).toBe(403);
      }
    });
    expect((await writer.restore('YQ', id).expect(200)).body.version).toBe(2);
  });

  it('needs a bearer token', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const id = await idOf(notes, 'YQ');
    const nobody = notes.as(notes.user.at(service.url, 'none'));
    await expectNothingChanged(notes, async () => {
      await nobody.restore('YQ', id).expect(401);
      await nobody.version('YQ', id).expect(401);
      await nobody.user.get(`${notes.file('YQ')}/versions`).expect(401);
    });
  });
});

describe('concurrent restores', () => {
  // The oracles check every workspace, and those of the other service hold legacy rows.
  let first: TestService;
  let second: TestService;
  beforeAll(async () => {
    first = await startService();
    second = await startService({ beside: first });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });

  /** A fresh workspace, as seen through each of the two instances. */
  async function workspaces(): Promise<[TestWorkspace, TestWorkspace]> {
    const here = await workspace(first);
    return [here, here.as(here.user.at(second.url))];
  }

  itDeep(
    'create exactly 100 versions and 100 change rows for 100 of one version on two instances',
    async () => {
      for (const content of [Buffer.from('inline'), randomBytes(100_000)]) {
        const [here, there] = await workspaces();
        await here.put('YQ', content).expect(201);
        await here.put('YQ', 'newer').expect(200);
        const before = await footprint(first, here.id);
        const id = await idOf(here, 'YQ');

        const answers = await Promise.all(
          Array.from({ length: 100 }, (_, i) => (i % 2 ? here : there).restore('YQ', id, `device-${i}`)),
        );
        expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
        const minted = Array.from({ length: 100 }, (_, i) => i + 3);
        expect(answers.map(({ body }) => body.version as number).sort((a, b) => a - b)).toEqual(minted);
        expect(await footprint(first, here.id)).toEqual({
          ...before,
          versions: before.versions + 100,
          changes: before.changes + 100,
        });

        const versions = await there.versions('YQ');
        expect(versions.map(({ version }) => version)).toEqual([1, 2, ...minted].reverse());
        expect(new Set(versions.map((version) => version.device_id)).size).toBe(101); // laptop's two, and each once
        for (const version of versions) {
          const { body, headers } = await there.version('YQ', version.id).expect(200);
          expect(sha256(body as Buffer)).toBe(version.content_hash);
          expect(headers.etag).toBe(`"${version.content_hash}"`);
        }
        const log = await here.log();
        expect(log.map(({ version }) => version)).toEqual([1, 2, ...minted]);
        expect(log.slice(2).every(({ contentHash }) => contentHash === sha256(content))).toBe(true);
        await expectReplayLaw(there);
      }
      await expectDenseLogs(first.database);
      await scrub(first.database, first.dataDir);
    },
  );

  itDeep('are serialised with uploads and deletions', async () => {
    for (let round = 0; round < 5; round++) {
      const [here, there] = await workspaces();
      await here.put('YQ', 'first').expect(201);
      const id = await idOf(here, 'YQ');
      const requests = Array.from({ length: 32 }, (_, i): supertest.Test => {
        const notes = i % 2 ? here : there;
        if (i % 4 === 0) return notes.delete('YQ', `d${i}`);
        return i % 4 === 1 ? notes.put('YQ', `content ${i}`, `d${i}`) : notes.restore('YQ', id, `d${i}`);
      });
      const answers = await Promise.all(requests.map((request) => request.then((answer) => answer)));
      expect(answers.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
      expect(answers.filter((_, i) => i % 4 > 1).every(({ status }) => status === 200)).toBe(true);
      const minted = answers.filter(({ status }, i) => status === 200 && i % 4 !== 0);
      expect(await here.versions('YQ')).toHaveLength(1 + minted.length);
      await expectReplayLaw(here);
    }
    await expectDenseLogs(first.database);
    await scrub(first.database, first.dataDir);
  });

  it('leave nothing behind when the workspace is deleted meanwhile', async () => {
    const [here, there] = await workspaces();
    await here.put('YQ', randomBytes(100_000)).expect(201);
    const id = await idOf(here, 'YQ');
    const requests = Array.from({ length: 40 }, (_, i): supertest.Test => {
      if (i === 15) return here.user.delete(here.path);
      return (i % 2 ? here : there).restore('YQ', id);
    });
    const answers = await Promise.all(requests.map((request) => request.then((answer) => answer)));
    expect(answers.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
    await here.restore('YQ', id).expect(404);
    await first.app.get(WorkspacePurge).resume();
    await first.app.get(WorkspacePurge).idle();
    expect(await footprint(first, here.id)).toEqual(NOTHING);
  });
});
