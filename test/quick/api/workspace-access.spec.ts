import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Response, Test } from 'supertest';
import { Suspensions } from '../../../src/domain/auth/index.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { FileContentLoader } from '../../../src/domain/files/files.service.js';
import { Files } from '../../../src/domain/files/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { NotFound } from '../../../src/platform/http/index.js';
import { ACCESS_CHECKED_IN_STATEMENT } from '../../../src/access/workspace-access.guard.js';
import type { Caller } from '../../../src/access/route-access.js';
import { WorkspaceClosed } from '../../../src/access/workspace-access.js';
import { startService, type TestService, type TestUser, type TestWorkspace } from '../../kit/index.js';
import { sha256 } from '../../kit/workspace.js';

/** A size that goes to the blob store, and the largest that a file may have. */
const [LARGE, MOST] = [100_000, 150_000];
const ENV = { MAX_FILE_BYTES: String(MOST) };

let here: TestService;
/** Another instance, on which access is withdrawn. */
let there: TestService;
let names = 0;

beforeAll(async () => {
  here = await startService({ env: ENV });
  there = await startService({ env: ENV, beside: here });
});
afterAll(async () => {
  await there.close();
  await here.close();
});
afterEach(() => jest.restoreAllMocks());

/** The routes whose statements check the caller's access themselves. */
const ROUTES: Record<string, (notes: TestWorkspace) => Test> = {
  upload: (notes) => notes.put('path', `content ${++names}`),
  'large upload': (notes) => notes.put('path', randomBytes(LARGE)),
  download: (notes) => notes.get('path'),
  pull: (notes) => notes.pull(0),
  snapshot: (notes) => notes.snapshot(),
};

const FAULTY: [name: string, status: number, ask: (notes: TestWorkspace) => Test][] = [
  [
    'upload with another hash',
    400,
    (notes) => notes.put('path', 'content').set('X-Content-Hash', 'a'.repeat(64)),
  ],
  ['upload without a hash', 400, (notes) => notes.put('path', 'content').unset('X-Content-Hash')],
  ['upload too large', 413, (notes) => notes.put('path', randomBytes(MOST + 1))],
  ['upload over an existing file', 412, (notes) => notes.put('path', 'content').set('If-None-Match', '*')],
  ['pull with a negative cursor', 400, (notes) => notes.pull(-1)],
  ['pull with a cursor beyond the head', 409, (notes) => notes.pull(1000)],
  ['snapshot with an invalid cursor', 400, (notes) => notes.snapshot({ pageCursor: 'none' })],
];

interface Loss {
  readonly lose: (user: TestUser, notes: TestWorkspace) => Promise<unknown>;
  /** The status that each route answers afterwards. */
  readonly statuses: Record<keyof typeof ROUTES, number>;
}

const LOSSES: Record<string, Loss> = {
  'the account is deleted': {
    lose: (user) =>
      user.at(there.url).delete('/api/v1/auth/me').send({ confirm: user.email }).expect(200).then(),
    statuses: { upload: 401, 'large upload': 401, download: 401, pull: 401, snapshot: 401 },
  },
  'the account is suspended': {
    lose: (user) => there.app.get(Suspensions).suspend(user.id),
    statuses: { upload: 403, 'large upload': 403, download: 403, pull: 403, snapshot: 403 },
  },
  'the subscription has ended': {
    lose: ({ id }) => there.app.get(Subscriptions).grant(id, 'cancelled', null),
    // A download needs no subscription.
    statuses: { upload: 402, 'large upload': 402, download: 200, pull: 402, snapshot: 402 },
  },
  'the workspace is deleted': {
    lose: (user, notes) => user.at(there.url).delete(notes.path).expect(200).then(),
    statuses: { upload: 404, 'large upload': 404, download: 404, pull: 404, snapshot: 404 },
  },
};

async function wellKnown(): Promise<{ user: TestUser; notes: TestWorkspace }> {
  const user = await here.user(`user-${++names}`);
  const notes = await user.workspace();
  await notes.put('path', 'content').expect(201);
  for (const ask of Object.values(ROUTES)) await ask(notes).ok(({ status }) => status < 300);
  return { user, notes };
}

/** The body as JSON, also that of a download, which arrives as bytes. */
const told = (body: unknown): unknown => (body instanceof Buffer ? JSON.parse(body.toString()) : body);

/** Collects the names of all statements that run from now on. */
function statementsRun(): string[] {
  const run: string[] = [];
  const database = here.app.get(Database);
  const original = database.run.bind(database);
  jest.spyOn(database, 'run').mockImplementation((asked, values) => {
    run.push(asked.name);
    return original(asked, values);
  });
  return run;
}

it('the routes that check access in their statements are get, pull, put and snapshot', () => {
  const { app } = here;
  const handlers = app
    .get(DiscoveryService)
    .getControllers()
    .flatMap(({ instance }) => {
      const prototype = Object.getPrototypeOf(instance) as Record<string, () => unknown>;
      const names = app.get(MetadataScanner).getAllMethodNames(prototype);
      return names.filter((name) => Reflect.hasMetadata(ACCESS_CHECKED_IN_STATEMENT, prototype[name]!));
    });
  // Another route needs `accessCondition` in each of its statements, and entries in ROUTES and FAULTY.
  expect(handlers.sort()).toEqual(['get', 'pull', 'put', 'snapshot']);
});

describe('a write that did not pass the guard', () => {
  it('is 404 when the workspace is deleted meanwhile, and leaves no bytes', async () => {
    const { notes } = await wellKnown();
    const before = await rowsOf(notes);
    await here.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [notes.id]);
    const content = randomBytes(LARGE);
    const said = {
      contentHash: sha256(content),
      deviceId: 'laptop',
      precondition: { ifMatch: null, ifAbsent: false },
    };
    const upload = { workspaceId: notes.id, encryptedPath: 'late', ...said };
    await expect(here.app.get(Files).upload(upload, Readable.from([content]))).rejects.toThrow(NotFound);
    expect(await rowsOf(notes)).toBe(before);
  });
});

describe('a caller admitted within the last minute', () => {
  it.each(Object.entries(ROUTES))('is checked by the statement of the %s alone', async (_, ask) => {
    const { notes } = await wellKnown();
    const run = statementsRun();
    await ask(notes).ok(({ status }) => status < 300);
    expect(run).not.toContain('access.caller_state');
  });

  it('is checked by the guard again after a minute', async () => {
    const { notes } = await wellKnown();
    const { clock } = here;
    const since = clock.elapsed();
    jest.spyOn(clock, 'elapsed').mockImplementation(() => since + 61_000);
    const run = statementsRun();
    await notes.pull(0).expect(200);
    expect(run).toContain('access.caller_state');
  });

  describe.each(Object.entries(LOSSES))('when %s', (_, { lose, statuses }) => {
    it.each(Object.entries(ROUTES))('is refused at once on the other instance: %s', async (route, ask) => {
      const { user, notes } = await wellKnown();
      const before = await rowsOf(notes);
      await lose(user, notes);

      const { status, body } = await ask(notes).ok(() => true);

      expect(status).toBe(statuses[route]);
      if (status >= 400) expect(told(body)).toEqual({ error: expect.any(String) });
      expect(await rowsOf(notes)).toBeLessThanOrEqual(before);
    });
  });

  it('is refused for each of the uploads that share a commit, and none is stored', async () => {
    const { user, notes } = await wellKnown();
    const before = await rowsOf(notes);
    await there.app.get(Subscriptions).grant(user.id, 'cancelled', null);
    const uploads = Array.from({ length: 20 }, (_, i) => notes.put(`path-${i}`, 'content').ok(() => true));
    const statuses = (await Promise.all(uploads)).map(({ status }: Response) => status);
    expect(new Set(statuses)).toEqual(new Set([402]));
    expect(await rowsOf(notes)).toBe(before);
  });

  it.each(FAULTY)('is refused before other errors are reported: %s', async (_, otherwise, ask) => {
    const { user, notes } = await wellKnown();
    expect((await ask(notes).ok(() => true)).status).toBe(otherwise);
    await there.app.get(Subscriptions).grant(user.id, 'cancelled', null);
    expect((await ask(notes).ok(() => true)).status).toBe(402);
  });

  it('is refused alone among uploads that share a commit', async () => {
    const { user, notes } = await wellKnown();
    await there.app.get(Subscriptions).grant(user.id, 'cancelled', null);
    const files = here.app.get(Files);
    const upload = (encryptedPath: string, caller?: Caller): Promise<unknown> => {
      const content = Buffer.from(encryptedPath);
      const said = {
        contentHash: sha256(content),
        deviceId: 'laptop',
        precondition: { ifMatch: null, ifAbsent: false },
      };
      const whole = { workspaceId: notes.id, encryptedPath, ...said, ...(caller ? { caller } : {}) };
      return files.upload(whole, Readable.from([content]));
    };
    const lapsed = { userId: user.id, needsSubscription: true };
    const [first, second, third] = await Promise.allSettled([
      ...[upload('first'), upload('second')],
      upload('third', lapsed),
    ]);
    expect([first, second]).toMatchObject([{ value: { isNew: true } }, { value: { isNew: true } }]);
    expect(third).toMatchObject({ reason: expect.any(WorkspaceClosed) });
  });

  it('does not change the last-seen time of a device by a refused pull', async () => {
    const { user, notes } = await wellKnown();
    const register = { name: 'laptop', platform: 'linux' };
    const { body } = await user.post('/api/v1/devices').send(register).expect(201);
    await there.app.get(Subscriptions).grant(user.id, 'cancelled', null);
    await notes.pull(0, 100, body.id).expect(402);
    const [device] = await here.database.query('SELECT last_seen_at FROM devices WHERE id = $1', [body.id]);
    expect(device).toEqual({ last_seen_at: null });
  });

  it('does not open the workspace to another user', async () => {
    const { notes } = await wellKnown();
    const stranger = await here.user(`user-${++names}`);
    for (const ask of Object.values(ROUTES)) await ask(notes.as(stranger)).expect(404);
  });

  it('does not open the workspace to a user whose read shares a batch with reads of the owner', async () => {
    const { user, notes } = await wellKnown();
    const other = await here.user(`user-${++names}`);
    await notes.put('path', 'of the owner').expect(200);
    const contentLoader = here.app.get(FileContentLoader);
    const run = statementsRun();
    const read = ({ id: userId }: TestUser): Promise<unknown> =>
      contentLoader.content({ id: notes.id, caller: { userId, needsSubscription: false } }, 'path');
    const [own, foreign, ...again] = await Promise.allSettled([user, other, user, user].map(read));
    expect(own).toMatchObject({ value: { workspaceId: notes.id, contentHash: sha256('of the owner') } });
    expect(foreign).toMatchObject({ reason: expect.any(NotFound) });
    expect(again).toEqual([own, own]);
    // One statement reads for the owner, another one for the other caller.
    expect(run.filter((name) => name === 'files.heads')).toHaveLength(2);
  });

  it('gets "file not found" when only the file is missing', async () => {
    const { notes } = await wellKnown();
    const { body } = await notes.get('nothing').expect(404);
    expect(told(body)).toEqual({ error: 'file not found' });
  });
});

const rowsOf = async ({ id }: TestWorkspace): Promise<number> =>
  Number(
    (
      await here.database.query(
        `SELECT (SELECT count(*) FROM changes WHERE workspace_id = $1) + (SELECT count(*) FROM versions WHERE workspace_id = $1)
                + (SELECT count(*) FROM blobs WHERE workspace_id = $1) AS rows`,
        [id],
      )
    )[0]?.rows,
  );
