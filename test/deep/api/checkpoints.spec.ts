import { randomUUID } from 'node:crypto';
import type supertest from 'supertest';
import { insertLargeLog } from '../../../bench/large-log.js';
import type { Manifest, Summary } from '../../../src/domain/checkpoints/projections.js';
import { Projections } from '../../../src/domain/checkpoints/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import {
  eventually,
  type ListedCheckpoint,
  startService,
  type TestService,
  TestUser,
  TestWorkspace,
} from '../../kit/index.js';
import { expectReplayLaw } from '../../kit/oracles.js';
import { startProcess } from '../../kit/process.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const CREATED_AT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
const LABEL = 'AQIDBAUGBwg=';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

let names = 0;
/** A workspace of a new user. */
async function workspace(at = service): Promise<TestWorkspace> {
  return (await at.user(`checkpoints-${++names}`)).workspace();
}

function create(notes: TestWorkspace, body: unknown): supertest.Test {
  return notes.user.post(`${notes.path}/checkpoints`).send(body as object);
}

function remove(notes: TestWorkspace, id: string): supertest.Test {
  return notes.user.delete(`${notes.path}/checkpoints/${id}`);
}

function getSummary(notes: TestWorkspace, id: string, query = ''): supertest.Test {
  return notes.user.get(`${notes.path}/checkpoints/${id}/summary${query}`);
}

function getManifest(notes: TestWorkspace, id: string): supertest.Test {
  return notes.user.get(`${notes.path}/checkpoints/${id}/restore-manifest`);
}

function getNoteState(notes: TestWorkspace, id: string, encPath: string): supertest.Test {
  return notes.user.get(`${notes.path}/checkpoints/${id}/note-state?encPath=${encPath}`);
}

/** The three projections of a checkpoint, each with a request that would otherwise succeed. */
const PROJECTIONS: [string, (notes: TestWorkspace, id: string) => supertest.Test][] = [
  ['summary', (notes, id) => getSummary(notes, id)],
  ['restore-manifest', (notes, id) => getManifest(notes, id)],
  ['note-state', (notes, id) => getNoteState(notes, id, 'YQ')],
];

/** The contract gives the entries no order. */
function byPath<T extends { entries: { encryptedPath: string }[] }>(projection: T): T {
  return {
    ...projection,
    entries: projection.entries.toSorted((a, b) => (a.encryptedPath < b.encryptedPath ? -1 : 1)),
  };
}

async function summary(notes: TestWorkspace, id: string, query = ''): Promise<Summary> {
  return byPath((await getSummary(notes, id, query).expect(200)).body as Summary);
}

async function manifest(notes: TestWorkspace, id: string): Promise<Manifest> {
  return byPath((await getManifest(notes, id).expect(200)).body as Manifest);
}

async function noteState(notes: TestWorkspace, id: string, encPath: string): Promise<unknown> {
  return (await getNoteState(notes, id, encPath).expect(200)).body;
}

/** The id of a path's version, by its number. */
async function idOf(notes: TestWorkspace, encryptedPath: string, version = 1): Promise<string> {
  const found = (await notes.versions(encryptedPath)).find((one) => one.version === version);
  return found!.id;
}

/** Runs requests that must be refused, and checks that the workspace is unchanged. */
async function expectNothingChanged(notes: TestWorkspace, refused: () => Promise<void>): Promise<void> {
  const state = async (): Promise<unknown> => [
    await footprint(service, notes.id),
    await service.database.query('SELECT * FROM checkpoints WHERE workspace_id = $1 ORDER BY id', [notes.id]),
  ];
  const before = await state();
  await refused();
  expect(await state()).toEqual(before);
}

function expectFlat({ status, body }: supertest.Response, expected: number): void {
  expect({ status, body: body as unknown }).toEqual({
    status: expected,
    body: { error: expect.any(String) },
  });
}

/** A response without its date and request id. */
function comparable({ status, headers, text }: supertest.Response): unknown {
  return { status, headers: { ...headers, date: '', 'x-request-id': '' }, text };
}

describe('POST checkpoints', () => {
  it('is 201 with every field; only this response has workspaceId', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    await notes.delete('YQ').expect(200);
    const { body } = await create(notes, { encryptedLabel: LABEL, kind: 'manual' }).expect(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      workspaceId: notes.id,
      encryptedLabel: LABEL,
      kind: 'manual',
      cursor: 2,
      createdAt: expect.stringMatching(CREATED_AT),
    });
    const { workspaceId, ...listed } = body;
    expect(workspaceId).toBe(notes.id);
    expect((await notes.user.get(`${notes.path}/checkpoints`).expect(200)).body).toEqual({
      checkpoints: [listed],
    });
  });

  it('marks the current head: 0 for an empty log, then the last write', async () => {
    const notes = await workspace();
    expect((await notes.checkpoint()).cursor).toBe(0);
    for (let i = 1; i <= 11; i++) {
      await notes.put('YQ', `content ${i}`);
      const { cursor } = await notes.checkpoint();
      expect(cursor).toBe(i);
      expect((await notes.status()).cursor).toBe(cursor);
    }
  });

  it('writes a marker and nothing else: no change, no event in the log', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const before = [await footprint(service, notes.id), await notes.log(), await notes.status()];
    await notes.checkpoint();
    expect([await footprint(service, notes.id), await notes.log(), await notes.status()]).toEqual(before);
  });

  it('takes nothing but label and kind from the request', async () => {
    const notes = await workspace();
    const other = await notes.user.workspace('other');
    const smuggled = {
      ...{ id: randomUUID(), workspaceId: other.id, workspace_id: other.id, cursor: 7 },
      ...{ createdAt: '2001-01-01 00:00:00', created_at: '2001-01-01' },
    };
    const { body } = await create(notes, { ...smuggled, encryptedLabel: LABEL, kind: 'auto' }).expect(201);
    expect(body).toMatchObject({ workspaceId: notes.id, cursor: 0, kind: 'auto' });
    expect(body.id).not.toBe(smuggled.id);
    expect(body.createdAt).not.toBe(smuggled.createdAt);
    expect(await other.checkpoints()).toEqual([]);
  });

  it.each([
    ['one character', 'a'],
    ['8,192 characters', 'a'.repeat(8192)],
    ['8,192 characters with padding', `${'a'.repeat(8190)}==`],
    [
      'base64 with all of its alphabet',
      Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64'),
    ],
    ['base64url', '-_-_abcXYZ019'],
    ['base64url with padding', '-_-_abc='],
    ['base64 without padding', '+/+/abc'],
    ['hex', 'deadbeef00'],
    ['hex in capitals', 'DEADBEEF00'],
  ])('keeps a label as it is: %s', async (_, encryptedLabel) => {
    const notes = await workspace();
    const { body } = await create(notes, { encryptedLabel, kind: 'manual' }).expect(201);
    expect(body.encryptedLabel).toBe(encryptedLabel);
    expect((await notes.checkpoints())[0]!.encryptedLabel).toBe(encryptedLabel);
  });

  it.each([
    ['none', undefined],
    ['null', null],
    ['empty', ''],
    ['8,193 characters', 'a'.repeat(8193)],
    ['8,193 characters with padding', `${'a'.repeat(8191)}==`],
    ['padding alone', '=='],
    ['three =', 'a==='],
    ['= in the middle', 'a=b'],
    ['a blank', 'a b'],
    ['a line feed at the end', 'abcd\n'],
    ['a tab', 'ab\tcd'],
    ['NUL', 'ab\u0000cd'],
    ['an escape sequence', '\u001b[2J'],
    ['DEL', 'ab\u007f'],
    ['both alphabets at once', '+_'],
    ['plaintext', 'Before the move!'],
    ['an umlaut', 'é'],
    ['an emoji', '🗒'],
    ['a number', 7],
    ['a boolean', true],
    ['a list', [LABEL]],
    ['an object', { toString: LABEL }],
  ])('refuses as a label: %s', async (_, encryptedLabel) => {
    const notes = await workspace();
    await expectNothingChanged(notes, async () => {
      expectFlat(await create(notes, { encryptedLabel, kind: 'manual' }), 400);
    });
  });

  it.each([
    [undefined],
    [null],
    [''],
    ['Manual'],
    ['AUTO'],
    [' manual'],
    ['manual '],
    ['manual\n'],
    ['scheduled'],
    [0],
    [true],
    [['manual']],
    [{ kind: 'manual' }],
  ])('refuses as a kind: %j', async (kind) => {
    const notes = await workspace();
    await expectNothingChanged(notes, async () => {
      expectFlat(await create(notes, { encryptedLabel: LABEL, kind }), 400);
    });
  });

  it.each(['', '{', 'null', '[]', '"manual"', '7'])('refuses as a body: %s', async (body) => {
    const notes = await workspace();
    await expectNothingChanged(notes, async () => {
      const request = notes.user.post(`${notes.path}/checkpoints`).set('Content-Type', 'application/json');
      expectFlat(await request.serialize((text: unknown) => text as string).send(body), 400);
    });
  });
});

describe('createdAt', () => {
  let here: TestService;
  let there: TestService;
  beforeAll(async () => {
    here = await startService();
    await here.database.query(`ALTER DATABASE ${here.database.name} SET timezone TO 'Asia/Kolkata'`);
    there = await startService({ beside: here }); // only new connections use it
  });
  afterAll(async () => {
    await there.close();
    await here.close();
  });

  it.each([
    ['2026-01-02T03:04:05.000Z', '2026-01-02 03:04:05'],
    ['2026-01-02T23:59:59.999Z', '2026-01-02 23:59:59'],
    ['2026-12-31T20:00:00.500Z', '2026-12-31 20:00:00'],
    ['2028-02-29T00:00:00.000Z', '2028-02-29 00:00:00'],
  ])('of %s is %s in UTC, whatever the time zone of the database', async (time, createdAt) => {
    here.clock.stopAt(new Date(time));
    const [row] = (await there.app.get(Database).pool.query('SHOW timezone')).rows as { TimeZone: string }[];
    expect(row!.TimeZone).toBe('Asia/Kolkata');
    const notes = await workspace(here);
    const elsewhere = notes.as(notes.user.at(there.url));
    expect((await elsewhere.checkpoint()).createdAt).toBe(createdAt);
    expect((await elsewhere.checkpoints())[0]!.createdAt).toBe(createdAt);
    expect((await notes.checkpoints())[0]!.createdAt).toBe(createdAt);
  });

  it('is UTC also in a process with another time zone', async () => {
    const env = { DATA_DIR: here.dataDir, DATABASE_URL: here.database.url, TZ: 'America/St_Johns' };
    const zoned = await startProcess(env);
    try {
      const alice = await TestUser.logIn(zoned.url, 'alice-of-newfoundland');
      await alice.post('/api/v1/subscription/trial').expect(200);
      const before = Math.floor(Date.now() / 1000) * 1000;
      const { createdAt } = await (await alice.workspace()).checkpoint();
      expect(createdAt).toMatch(CREATED_AT);
      const time = Date.parse(`${createdAt.replace(' ', 'T')}Z`);
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(Date.now());
    } finally {
      await zoned.end('SIGTERM');
    }
  });
});

describe('GET checkpoints', () => {
  it('is empty at first, and never lists checkpoints of another workspace', async () => {
    const notes = await workspace();
    const other = await notes.user.workspace('other');
    await other.checkpoint();
    expect((await notes.user.get(`${notes.path}/checkpoints`).expect(200)).body).toEqual({ checkpoints: [] });
  });

  it('sorts numerically by cursor, highest first, and equal cursors by age, newest first', async () => {
    const notes = await workspace();
    const made: ListedCheckpoint[] = [];
    for (let i = 0; i < 12; i++) {
      await notes.put('YQ', `content ${i}`);
      for (let j = 0; j < 3; j++) made.push(await notes.checkpoint());
      service.clock.advance(1000);
    }
    const listed = await notes.checkpoints();
    expect(listed.map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
    expect(listed.map(({ cursor }) => cursor)).toEqual(made.map(({ cursor }) => cursor).reverse());
  });

  it('orders checkpoints of one millisecond by their creation', async () => {
    const still = await startService();
    try {
      still.clock.stopAt(new Date());
      const notes = await workspace(still);
      const made: string[] = [];
      for (let i = 0; i < 20; i++) made.push((await notes.checkpoint()).id);
      expect((await notes.checkpoints()).map(({ id }) => id)).toEqual(made.reverse());
    } finally {
      await still.close();
    }
  });

  it('treats the higher cursor as newer, even after the clock went back', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const lower = await notes.checkpoint();
    await notes.put('YQ', 'b').expect(200);
    service.clock.advance(-60_000);
    const higher = await notes.checkpoint();
    service.clock.advance(60_000);
    expect((await notes.checkpoints()).map(({ id }) => id)).toEqual([higher.id, lower.id]);
    expect(await summary(notes, higher.id)).toMatchObject({ fromCursor: 1, toCursor: 2 });
  });
});

describe('DELETE checkpoint', () => {
  it('removes only the marker', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const { id } = await notes.checkpoint();
    const kept = await notes.checkpoint();
    await notes.put('YQ', 'two').expect(200);
    const before = [await footprint(service, notes.id), await notes.log(), await notes.versions('YQ')];

    expect((await remove(notes, id).expect(200)).body).toEqual({ ok: true });
    expect((await notes.checkpoints()).map((one) => one.id)).toEqual([kept.id]);
    expect([await footprint(service, notes.id), await notes.log(), await notes.versions('YQ')]).toEqual(
      before,
    );
    for (const [, project] of PROJECTIONS) expectFlat(await project(notes, id), 404);
    expectFlat(await remove(notes, id), 404);
  });

  it('accepts the id in capitals', async () => {
    const notes = await workspace();
    const { id } = await notes.checkpoint();
    for (const [, project] of PROJECTIONS) expect((await project(notes, id.toUpperCase())).status).toBe(200);
    await remove(notes, id.toUpperCase()).expect(200);
    expect(await notes.checkpoints()).toEqual([]);
  });

  it('lets one of several concurrent deletions win; the others are 404', async () => {
    const notes = await workspace();
    const { id } = await notes.checkpoint();
    const answers = await Promise.all([1, 2, 3, 4].map(() => remove(notes, id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404]);
  });

  it('widens the summary window of the next newer checkpoint', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const older = await notes.checkpoint();
    await notes.put('YQ', 'two').expect(200);
    const newer = await notes.checkpoint();
    expect(await summary(notes, newer.id)).toMatchObject({
      fromCursor: 1,
      entries: [{ action: 'modified', changeCount: 1 }],
    });
    await remove(notes, older.id).expect(200);
    expect(await summary(notes, newer.id)).toMatchObject({
      fromCursor: 0,
      entries: [{ action: 'created', changeCount: 2 }],
    });
  });
});

describe('an id that names no checkpoint of the workspace', () => {
  const ROUTES: [string, (notes: TestWorkspace, id: string) => supertest.Test][] = [
    ...PROJECTIONS,
    ['DELETE', remove],
  ];

  it.each(ROUTES)('is the same 404 whatever it names, and changes nothing: %s', async (_, request) => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    await notes.checkpoint();
    const other = await notes.user.workspace('other');
    const stranger = await workspace();
    const form = randomUUID();
    const none = {
      unknown: randomUUID(),
      'another workspace of the same user': (await other.checkpoint()).id,
      'a workspace of another user': (await stranger.checkpoint()).id,
      'a version': await idOf(notes, 'YQ'),
      'the workspace': notes.id,
      nil: '00000000-0000-0000-0000-000000000000',
      word: 'latest',
      number: '1',
      'too long': `${form}0`,
      'without dashes': form.replaceAll('-', ''),
      'in braces': `%7B${form}%7D`,
      'with a line feed': `${form}%0A`,
      NUL: '%00',
      emoji: '%F0%9F%97%92',
    };
    await expectNothingChanged(notes, async () => {
      const absent = comparable(await request(notes, none.unknown));
      expect(absent).toMatchObject({ status: 404, text: '{"error":"checkpoint not found"}' });
      for (const [name, id] of Object.entries(none)) {
        expect([name, comparable(await request(notes, id))]).toEqual([name, absent]);
      }
    });
    expect(await other.checkpoints()).toHaveLength(1);
    expect(await stranger.checkpoints()).toHaveLength(1);
  });

  it('gives no access to the workspace of another user', async () => {
    const notes = await workspace();
    const { id } = await notes.checkpoint();
    const mallory = (await workspace()).user;
    const here = notes.as(mallory);
    const nowhere = new TestWorkspace(mallory, randomUUID());
    const all: ((at: TestWorkspace) => supertest.Test)[] = [
      ...ROUTES.map(
        ([, request]) =>
          (at: TestWorkspace): supertest.Test =>
            request(at, id),
      ),
      (at) => create(at, { encryptedLabel: LABEL, kind: 'manual' }),
      (at) => mallory.get(`${at.path}/checkpoints`),
    ];
    await expectNothingChanged(notes, async () => {
      for (const request of all) {
        const foreign = await request(here);
        expect(foreign.text).toBe('{"error":"workspace not found"}');
        expect(comparable(foreign)).toEqual(comparable(await request(nowhere)));
      }
    });
  });
});

describe('GET summary', () => {
  it('reports one action for every path changed in the window', async () => {
    const notes = await workspace();
    for (const path of ['bW9kaWZpZWQ', 'ZGVsZXRlZA', 'dW50b3VjaGVk', 'cmV2aXZlZA', 'cmVib3Ju'])
      await notes.put(path, 'before').expect(201);
    await notes.delete('cmVib3Ju').expect(200);
    const older = await notes.checkpoint();

    await notes.put('bW9kaWZpZWQ', 'two').expect(200);
    await notes.put('bW9kaWZpZWQ', 'three').expect(200);
    await notes.delete('ZGVsZXRlZA').expect(200);
    await notes.delete('cmV2aXZlZA').expect(200);
    await notes.restore('cmV2aXZlZA', await idOf(notes, 'cmV2aXZlZA')).expect(200);
    await notes.restore('cmVib3Ju', await idOf(notes, 'cmVib3Ju')).expect(200);
    await notes.put('Y3JlYXRlZA', 'new').expect(201);
    await notes.put('Zmxhc2g', 'short-lived').expect(201);
    await notes.delete('Zmxhc2g').expect(200);
    const { id } = await notes.checkpoint();
    await notes.put('bGF0ZXI', 'after the checkpoint').expect(201);
    await notes.delete('bW9kaWZpZWQ').expect(200);

    expect(await summary(notes, id)).toEqual(
      byPath({
        fromCursor: older.cursor,
        toCursor: 15,
        entries: [
          { encryptedPath: 'bW9kaWZpZWQ', action: 'modified', changeCount: 2, latestVersion: 3 },
          { encryptedPath: 'ZGVsZXRlZA', action: 'deleted', changeCount: 1, latestVersion: 1 },
          { encryptedPath: 'cmV2aXZlZA', action: 'modified', changeCount: 2, latestVersion: 2 },
          { encryptedPath: 'cmVib3Ju', action: 'created', changeCount: 1, latestVersion: 2 },
          { encryptedPath: 'Y3JlYXRlZA', action: 'created', changeCount: 1, latestVersion: 1 },
          { encryptedPath: 'Zmxhc2g', action: 'deleted', changeCount: 2, latestVersion: 1 },
        ],
      }),
    );
  });

  it('reports upsert, delete, upsert inside one window as created', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.delete('YQ').expect(200);
    await notes.put('YQ', 'one').expect(200);
    const { id } = await notes.checkpoint();
    const entry = { encryptedPath: 'YQ', changeCount: 3, latestVersion: 2, action: 'created' };
    expect(await summary(notes, id)).toEqual({ fromCursor: 0, toCursor: 3, entries: [entry] });
    expect((await summary(notes, id, '?fromCursor=1')).entries).toEqual([
      { ...entry, action: 'modified', changeCount: 2 },
    ]);
    expect((await summary(notes, id, '?fromCursor=2')).entries).toEqual([{ ...entry, changeCount: 1 }]);
  });

  it('begins at the next older checkpoint, or at 0', async () => {
    const notes = await workspace();
    const empty = await notes.checkpoint();
    expect(await summary(notes, empty.id)).toEqual({ fromCursor: 0, toCursor: 0, entries: [] });
    await notes.put('YQ', 'a').expect(201);
    await notes.put('Yg', 'b').expect(201);
    const first = await notes.checkpoint();
    const twin = await notes.checkpoint();
    await notes.put('YQ', 'c').expect(200);
    const last = await notes.checkpoint();
    expect(await summary(notes, first.id)).toMatchObject({ fromCursor: 0, toCursor: 2 });
    expect((await summary(notes, first.id)).entries).toHaveLength(2);
    expect(await summary(notes, twin.id)).toEqual({ fromCursor: 2, toCursor: 2, entries: [] });
    expect(await summary(notes, last.id)).toMatchObject({ fromCursor: 2, toCursor: 3 });
  });

  it('accepts fromCursor from 0 to its own cursor', async () => {
    const notes = await workspace();
    for (const path of ['YQ', 'Yg', 'Yw']) await notes.put(path, path).expect(201);
    const { id } = await notes.checkpoint();
    for (let from = 0; from <= 3; from++) {
      const { entries, ...window } = await summary(notes, id, `?fromCursor=${from}`);
      expect(window).toEqual({ fromCursor: from, toCursor: 3 });
      expect(entries).toHaveLength(3 - from);
    }
  });

  it.each([
    ['empty', 'fromCursor='],
    ['negative', 'fromCursor=-1'],
    ['minus zero', 'fromCursor=-0'],
    ['a fraction', 'fromCursor=1.5'],
    ['a zero fraction', 'fromCursor=1.0'],
    ['a word', 'fromCursor=abc'],
    ['null', 'fromCursor=null'],
    ['NaN', 'fromCursor=NaN'],
    ['Infinity', 'fromCursor=Infinity'],
    ['an exponent', 'fromCursor=1e3'],
    ['hex', 'fromCursor=0x1'],
    ['a sign', 'fromCursor=%2B1'],
    ['a blank', 'fromCursor=%201'],
    ['a line feed', 'fromCursor=1%0A'],
    ['digits of another script', 'fromCursor=%D9%A1'],
    ['NUL', 'fromCursor=1%00'],
    ['given twice', 'fromCursor=0&fromCursor=1'],
    ['above the cursor', 'fromCursor=3'],
    ['beyond the safe integers', 'fromCursor=9007199254740993'],
    ['beyond bigint', `fromCursor=${'9'.repeat(30)}`],
  ])('refuses as fromCursor: %s', async (_, query) => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    await notes.put('YQ', 'b').expect(200);
    const { id } = await notes.checkpoint();
    await notes.put('YQ', 'c').expect(200); // above the cursor, but not above the head
    expectFlat(await getSummary(notes, id, `?${query}`), 400);
  });
});

describe('GET restore-manifest', () => {
  it('reports one op for every path: restore, delete or noop', async () => {
    const notes = await workspace();
    for (const path of ['Y2hhbmdlZA', 'ZGVsZXRlZA', 'c2FtZQ', 'cmV2aXZlZA', 'Z29uZQ', 'YmFjaw'])
      await notes.put(path, 'at the checkpoint').expect(201);
    await notes.put('Y2hhbmdlZA', 'at the checkpoint, second').expect(200);
    await notes.delete('Z29uZQ').expect(200);
    await notes.delete('YmFjaw').expect(200);
    const { id } = await notes.checkpoint();

    await notes.put('Y2hhbmdlZA', 'now').expect(200);
    await notes.delete('ZGVsZXRlZA').expect(200);
    await notes.delete('cmV2aXZlZA').expect(200);
    await notes.put('cmV2aXZlZA', 'at the checkpoint').expect(200); // the same content is another version
    await notes.put('YWRkZWQ', 'new').expect(201);
    await notes.put('Zmxhc2g', 'short-lived').expect(201);
    await notes.delete('Zmxhc2g').expect(200);
    await notes.put('YmFjaw', 'alive again').expect(200);

    const same = await idOf(notes, 'c2FtZQ');
    expect(await manifest(notes, id)).toEqual(
      byPath({
        expectedHeadCursor: (await notes.status()).cursor,
        entries: [
          {
            encryptedPath: 'Y2hhbmdlZA',
            op: 'restore',
            beforeVersionId: await idOf(notes, 'Y2hhbmdlZA', 3),
            afterVersionId: await idOf(notes, 'Y2hhbmdlZA', 2),
          },
          {
            encryptedPath: 'ZGVsZXRlZA',
            op: 'restore',
            beforeVersionId: null,
            afterVersionId: await idOf(notes, 'ZGVsZXRlZA', 1),
          },
          { encryptedPath: 'c2FtZQ', op: 'noop', beforeVersionId: same, afterVersionId: same },
          {
            encryptedPath: 'cmV2aXZlZA',
            op: 'restore',
            beforeVersionId: await idOf(notes, 'cmV2aXZlZA', 2),
            afterVersionId: await idOf(notes, 'cmV2aXZlZA', 1),
          },
          {
            encryptedPath: 'YWRkZWQ',
            op: 'delete',
            beforeVersionId: await idOf(notes, 'YWRkZWQ'),
            afterVersionId: null,
          },
          {
            encryptedPath: 'YmFjaw',
            op: 'delete',
            beforeVersionId: await idOf(notes, 'YmFjaw', 2),
            afterVersionId: null,
          },
        ],
      }),
    );
  });

  it('deletes every file for a checkpoint of an empty log, and is empty without live files', async () => {
    const notes = await workspace();
    const { id } = await notes.checkpoint();
    expect(await manifest(notes, id)).toEqual({ expectedHeadCursor: 0, entries: [] });
    await notes.put('YQ', 'a').expect(201);
    await notes.put('Yg', 'b').expect(201);
    const { entries } = await manifest(notes, id);
    expect(entries.map(({ op, afterVersionId }) => [op, afterVersionId])).toEqual([
      ['delete', null],
      ['delete', null],
    ]);
    await notes.push(2, ['YQ', 'Yg']).expect(200);
    expect(await manifest(notes, id)).toEqual({ expectedHeadCursor: 4, entries: [] });
  });

  it('changes expectedHeadCursor with every write, and with nothing else', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    const head = async (): Promise<number> => (await manifest(notes, id)).expectedHeadCursor;
    expect(await head()).toBe(1);
    await notes.checkpoint();
    await notes.put('YQ', 'a').expect(200);
    expect(await head()).toBe(1);
    await notes.put('YQ', 'b').expect(200);
    expect(await head()).toBe(2);
    await notes.restore('YQ', await idOf(notes, 'YQ')).expect(200);
    expect(await head()).toBe(3);
    await notes.delete('YQ').expect(200);
    expect(await head()).toBe(4);
  });

  it('restores exactly the contents of the checkpoint when it is applied', async () => {
    const notes = await workspace();
    for (const path of ['YQ', 'Yg', 'Yw', 'ZA']) await notes.put(path, `${path} then`).expect(201);
    const { id } = await notes.checkpoint();
    const contents = async (): Promise<unknown> =>
      new Map((await notes.list()).map((file) => [file.encrypted_path, file.content_hash]));
    const then = await contents();
    await notes.put('YQ', 'edited').expect(200);
    await notes.delete('Yg').expect(200);
    await notes.delete('Yw').expect(200);
    await notes.put('Yw', 'another life').expect(200);
    await notes.put('ZQ', 'added').expect(201);
    expect(await contents()).not.toEqual(then);

    const { expectedHeadCursor, entries } = await manifest(notes, id);
    const doomed = entries.filter(({ op }) => op === 'delete').map((entry) => entry.encryptedPath);
    const { body } = await notes.push(expectedHeadCursor, doomed, 'tablet').expect(200);
    expect(body).toMatchObject({ accepted: doomed, conflicts: [] });
    for (const { encryptedPath, op, afterVersionId } of entries)
      if (op === 'restore') await notes.restore(encryptedPath, afterVersionId!, 'tablet').expect(200);
    expect(await contents()).toEqual(then);
    await expectReplayLaw(notes);
  });
});

describe('GET note-state', () => {
  it('returns the version that the path had at the checkpoint, whatever came later', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const first = await notes.checkpoint();
    await notes.put('YQ', 'two').expect(200);
    const second = await notes.checkpoint();
    await notes.restore('YQ', await idOf(notes, 'YQ')).expect(200);
    const third = await notes.checkpoint();
    await notes.delete('YQ').expect(200);
    for (const [i, { id }] of [first, second, third].entries()) {
      const versionId = await idOf(notes, 'YQ', i + 1);
      expect(await noteState(notes, id, 'YQ')).toEqual({ versionId });
      const content = i === 1 ? 'two' : 'one';
      expect((await notes.version('YQ', versionId).expect(200)).body).toEqual(Buffer.from(content));
    }
  });

  it('reports absent for a path that was deleted, not yet created or never seen', async () => {
    const notes = await workspace();
    await notes.put('Z29uZQ', 'gone').expect(201);
    await notes.delete('Z29uZQ').expect(200);
    const { id } = await notes.checkpoint();
    await notes.put('bGF0ZXI', 'later').expect(201);
    await notes.put('Z29uZQ', 'back').expect(200);
    const other = await notes.user.workspace('other');
    await other.put('ZWxzZXdoZXJl', 'there').expect(201);
    for (const path of ['Z29uZQ', 'bGF0ZXI', 'bmV2ZXI', 'ZWxzZXdoZXJl'])
      expect(await noteState(notes, id, path)).toEqual({ absent: true });
  });

  it('compares paths exactly and accepts the longest', async () => {
    const notes = await workspace();
    const longest = `${'a'.repeat(4094)}==`;
    for (const path of ['YQ', 'YQ==', longest]) await notes.put(path, path).expect(201);
    const { id } = await notes.checkpoint();
    for (const path of ['YQ', 'YQ==', longest])
      expect(await noteState(notes, id, path)).toEqual({ versionId: await idOf(notes, path) });
    expect(await noteState(notes, id, encodeURIComponent('YQ=='))).toEqual({
      versionId: await idOf(notes, 'YQ=='),
    });
    expect(await noteState(notes, id, 'yq')).toEqual({ absent: true });
  });

  it.each([
    ['none', ''],
    ['an empty one', '?encPath='],
    ['=', '?encPath=='],
    ['three =', '?encPath=a==='],
    ['a dot', '?encPath=a.b'],
    ['a slash', '?encPath=a/b'],
    ['a blank', '?encPath=a+b'],
    ['a plus', '?encPath=a%2Bb'],
    ['a line feed', '?encPath=YQ%0A'],
    ['NUL', '?encPath=%00'],
    ['bytes that are no character', '?encPath=%FF'],
    ['an umlaut', '?encPath=%C3%A4'],
    ['two values', '?encPath=YQ&encPath=YQ'],
    ['4,097 characters', `?encPath=${'a'.repeat(4097)}`],
    ['another name', '?encryptedPath=YQ'],
  ])('refuses as encPath: %s', async (_, query) => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    expectFlat(await notes.user.get(`${notes.path}/checkpoints/${id}/note-state${query}`), 400);
  });
});

describe('concurrent projections', () => {
  /** Delays snapshots whose result satisfies `isHeld` until the release. */
  function holding(isHeld: (result: unknown) => boolean): {
    atOnce: number;
    most: number;
    release: () => void;
  } {
    const database = service.app.get(Database);
    const snapshot = database.snapshot.bind(database);
    let open = (): void => undefined;
    const released = new Promise<void>((resolve) => (open = resolve));
    const held = {
      atOnce: 0,
      most: 0,
      release: (): void => {
        open();
        spy.mockRestore();
      },
    };
    const spy = jest.spyOn(database, 'snapshot').mockImplementation(async (work) => {
      const result = await snapshot(work);
      if (!isHeld(result)) return result;
      held.most = Math.max(held.most, ++held.atOnce);
      await released;
      held.atOnce--;
      return result;
    });
    return held;
  }

  const inFlight = (): number => service.app.get(InFlightRequests).count;

  it('are computed one at a time for large logs; those of small logs or windows do not wait', async () => {
    const large = await workspace();
    const run = (sql: string, values: unknown[]): Promise<unknown> => service.database.query(sql, values);
    await insertLargeLog(run, large.id, { files: 501, changes: 1002 });
    const { id } = await large.checkpoint();
    const small = await workspace();
    await small.put('YQ', 'a').expect(201);
    const ofSmall = await small.checkpoint();

    const isOfLarge = (result: unknown): boolean => {
      const { entries } = (result as Partial<Summary> | undefined) ?? {};
      return (entries?.length ?? 0) > 2;
    };
    const held = holding(isOfLarge);
    try {
      const asked = [
        ...[getSummary(large, id), getSummary(large, id, '?fromCursor=0')],
        ...[getManifest(large, id), getManifest(large, id)],
      ].map((request) => request.expect(200));
      const all = Promise.all(asked);
      await eventually(() => expect(inFlight()).toBe(asked.length));
      await eventually(() => expect(held.atOnce).toBe(1));
      await getSummary(small, ofSmall.id).expect(200);
      await getManifest(small, ofSmall.id).expect(200);
      const { body } = await getSummary(large, id, '?fromCursor=1000').expect(200);
      expect((body as Summary).entries).toHaveLength(2);
      expect(inFlight()).toBe(asked.length);
      held.release();
      await all;
      expect(held.most).toBe(1);
    } finally {
      held.release();
    }
  });

  it('are limited to two at a time, also for small logs, so that others get connections', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    const others = await workspace(); // of another user: one user has one at a time
    await others.put('YQ', 'a').expect(201);
    const { id: theirs } = await others.checkpoint();
    const held = holding(() => true);
    try {
      const asked = Array.from({ length: 5 }, (_, n) =>
        (n % 2 ? getSummary(notes, id) : getSummary(others, theirs)).expect(200),
      );
      const all = Promise.all(asked);
      await eventually(() => expect(inFlight()).toBe(asked.length));
      await eventually(() => expect(held.atOnce).toBe(2));
      held.release();
      await all;
      expect(held.most).toBe(2);
    } finally {
      held.release();
    }
  });
});

describe('a compacted log', () => {
  async function compact({ id }: TestWorkspace, floor: number | null): Promise<void> {
    await service.database.query('UPDATE workspaces SET compaction_floor = $2 WHERE id = $1', [id, floor]);
  }

  it.each([0, 1, 3, 5_000_000_000])('has no projection, with a floor of %d', async (floor) => {
    const notes = await workspace();
    for (const content of ['a', 'b', 'c', 'd']) await notes.put('YQ', content);
    const { id } = await notes.checkpoint();
    await compact(notes, floor);
    for (const [, project] of PROJECTIONS) {
      const { body } = await project(notes, id).expect(409);
      expect(body).toEqual({ error: 'the change log has been compacted', compactionFloor: floor });
    }
    await getSummary(notes, id, '?fromCursor=4').expect(409);
    // Invalid requests are still refused, and unknown ids are still not found.
    expectFlat(await getSummary(notes, id, '?fromCursor=5'), 400);
    expectFlat(await getSummary(notes, id, '?fromCursor=x'), 400);
    expectFlat(await getNoteState(notes, id, ''), 400);
    for (const [, project] of PROJECTIONS) expectFlat(await project(notes, randomUUID()), 404);

    await compact(notes, null);
    for (const [, project] of PROJECTIONS) await project(notes, id).expect(200);
  });

  it('still lists, creates and deletes checkpoints', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    await compact(notes, 1);
    const { id, cursor } = await notes.checkpoint();
    expect(cursor).toBe(1);
    expect(await notes.checkpoints()).toHaveLength(1);
    await remove(notes, id).expect(200);
  });

  it('can be pulled from the floor on, and is 409 below it', async () => {
    const notes = await workspace();
    for (const content of ['a', 'b', 'c', 'd']) await notes.put('YQ', content);
    await compact(notes, 3);
    for (const cursor of [0, 1, 2]) {
      const { body } = await notes.pull(cursor).expect(409);
      expect(body).toEqual({ error: expect.any(String), needsBootstrap: true, compactionFloor: 3 });
    }
    expect((await notes.pull(3).expect(200)).body.changes).toHaveLength(1);
    expect((await notes.pull(4).expect(200)).body).toEqual({ changes: [], cursor: 4, hasMore: false });
    await compact(notes, 0);
    expect((await notes.pull(0).expect(200)).body.changes).toHaveLength(4);
  });
});

describe('legacy rows', () => {
  /** After the checkpoint `kept` stays as it was, `changed` gets a version, `gone` is deleted. */
  async function legacy(sql: string): Promise<{ notes: TestWorkspace; id: string }> {
    const notes = await workspace();
    for (const path of ['kept', 'changed', 'gone']) await notes.put(path, 'old').expect(201);
    const { id } = await notes.checkpoint();
    await service.database.query(sql, [notes.id]);
    await notes.put('changed', 'new').expect(200);
    await notes.delete('gone').expect(200);
    return { notes, id };
  }

  it('without a change cursor are no version of the checkpoint, only the head', async () => {
    const { notes, id } = await legacy('UPDATE versions SET change_cursor = NULL WHERE workspace_id = $1');
    const kept = await idOf(notes, 'kept');
    for (const path of ['kept', 'changed', 'gone'])
      expect(await noteState(notes, id, path)).toEqual({ versionId: null });
    expect((await manifest(notes, id)).entries).toEqual([
      {
        encryptedPath: 'changed',
        op: 'restore',
        beforeVersionId: await idOf(notes, 'changed', 2),
        afterVersionId: null,
      },
      { encryptedPath: 'gone', op: 'restore', beforeVersionId: null, afterVersionId: null },
      { encryptedPath: 'kept', op: 'noop', beforeVersionId: kept, afterVersionId: kept },
    ]);
    expect((await notes.versions('kept')).map(({ changeCursor }) => changeCursor)).toEqual([null]);
    expect((await notes.versions('changed')).map(({ changeCursor }) => changeCursor)).toEqual([4, null]);
    expect((await summary(notes, id)).entries).toHaveLength(3); // computed from the log
  });

  it('for a change without a version row have a null id and the right op', async () => {
    const { notes, id } = await legacy('DELETE FROM versions WHERE workspace_id = $1');
    for (const path of ['kept', 'changed', 'gone'])
      expect(await noteState(notes, id, path)).toEqual({ versionId: null });
    expect((await manifest(notes, id)).entries).toEqual([
      {
        encryptedPath: 'changed',
        op: 'restore',
        beforeVersionId: await idOf(notes, 'changed', 2),
        afterVersionId: null,
      },
      { encryptedPath: 'gone', op: 'restore', beforeVersionId: null, afterVersionId: null },
      { encryptedPath: 'kept', op: 'noop', beforeVersionId: null, afterVersionId: null },
    ]);
    expect((await summary(notes, id)).entries).toHaveLength(3);
    await notes.user.get(`${notes.file('kept')}/versions`).expect(404);
  });

  it('for a head without a version row are a deletion with a null id', async () => {
    const notes = await workspace();
    const { id } = await notes.checkpoint();
    await notes.put('YQ', 'new').expect(201);
    await service.database.query('DELETE FROM versions WHERE workspace_id = $1', [notes.id]);
    expect((await manifest(notes, id)).entries).toEqual([
      { encryptedPath: 'YQ', op: 'delete', beforeVersionId: null, afterVersionId: null },
    ]);
  });
});

describe('access', () => {
  const writes = (notes: TestWorkspace, id: string): supertest.Test[] => [
    create(notes, { encryptedLabel: LABEL, kind: 'manual' }),
    remove(notes, id),
  ];
  const reads = (notes: TestWorkspace, id: string): supertest.Test[] => [
    notes.user.get(`${notes.path}/checkpoints`),
    ...PROJECTIONS.map(([, project]) => project(notes, id)),
  ];

  async function withScopes(notes: TestWorkspace, ...scopes: string[]): Promise<TestWorkspace> {
    const mint = notes.user.post('/api/v1/auth/tokens').send({ name: 'test', scopes });
    const { body } = await mint.expect(201);
    return notes.as(notes.user.at(service.url, body.token));
  }

  async function expectAll(requests: supertest.Test[], status: number): Promise<void> {
    for (const request of requests) expect((await request).status).toBe(status);
  }

  it('needs a subscription to create and to delete, not to read', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    await service.database.query(`UPDATE subscriptions SET status = 'expired' WHERE user_id = $1`, [
      notes.user.id,
    ]);
    await expectNothingChanged(notes, () => expectAll(writes(notes, id), 402));
    await expectAll(reads(notes, id), 200);
  });

  it('needs documents:write to create and delete, and documents:read to read, independently', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    const reader = await withScopes(notes, 'documents:read');
    const writer = await withScopes(notes, 'documents:write');
    const neither = await withScopes(notes, 'assets:read', 'assets:write', 'agent:invoke');
    await expectNothingChanged(notes, async () => {
      await expectAll(reads(reader, id), 200);
      await expectAll(writes(reader, id), 403);
      await expectAll(reads(writer, id), 403);
      await expectAll([...reads(neither, id), ...writes(neither, id)], 403);
    });
    const { body } = await create(writer, { encryptedLabel: LABEL, kind: 'manual' }).expect(201);
    await remove(writer, body.id as string).expect(200);
  });

  it('needs a bearer token', async () => {
    const notes = await workspace();
    const { id } = await notes.checkpoint();
    const nobody = notes.as(notes.user.at(service.url, 'none'));
    await expectNothingChanged(notes, () => expectAll([...reads(nobody, id), ...writes(nobody, id)], 401));
  });
});

describe('a deleted workspace', () => {
  it('is 404 for projections accepted before it: none reports that all files are deleted', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [notes.id]);
    await service.database.query('DELETE FROM changes WHERE workspace_id = $1', [notes.id]); // as in a purge
    const projections = service.app.get(Projections, { strict: false });
    const asked = { userId: notes.user.id, workspaceId: notes.id };
    for (const project of [
      () => projections.restoreManifest(asked, id),
      () => projections.noteState(notes.id, id, 'YQ'),
      () => projections.summary(asked, id, 0),
    ])
      await expect(project()).rejects.toMatchObject({ status: 404 });
  });

  it('removes all of its checkpoints, and no others', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    const { id } = await notes.checkpoint();
    const other = await notes.user.workspace('other');
    await other.checkpoint();
    await service.database.query(
      `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
       SELECT workspace_id, gen_random_uuid(), encrypted_label, kind, cursor, created_at
       FROM checkpoints, generate_series(1, 2500) WHERE workspace_id = $1`,
      [notes.id],
    );

    await notes.user.delete(notes.path).expect(200);
    for (const [, project] of PROJECTIONS) await project(notes, id).expect(404);
    await create(notes, { encryptedLabel: LABEL, kind: 'manual' }).expect(404);
    await remove(notes, id).expect(404);
    await service.app.get(WorkspacePurge).idle();
    expect(await footprint(service, notes.id)).toEqual(NOTHING);
    const left = await service.database.query('SELECT id FROM checkpoints WHERE workspace_id = $1', [
      notes.id,
    ]);
    expect(left).toEqual([]);
    expect(await other.checkpoints()).toHaveLength(1);
  });
});
