import { IncomingMessage } from 'node:http';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { EventBus } from '../../../src/platform/events/index.js';
import { KillSwitch, type Mode, StoredMode } from '../../../src/platform/kill-switch.js';
import { AssetFeed } from '../../../src/domain/realtime/asset-feed.js';
import { type Route, ROUTES } from '../../kit/routes/route-table.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { adminEnded } from '../../kit/ended.js';
import {
  BASE_URL,
  begunRequest,
  eventually,
  sha256,
  startService,
  TestSocket,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { answerOf, headOf, openSocket, received } from '../../kit/raw-http.js';
import { ADMIN, runProcess } from '../../kit/process.js';
import { itDeep } from '../../kit/rounds.js';

/** Routes that stay open while the service is read-only, besides every GET. */
const OPEN = [
  'ALL /api/auth/*',
  'POST /api/v1/auth/dev-login',
  'POST /api/v1/webhooks/payment',
  'POST /api/v1/workspaces/:id/sync/pull',
  'POST /api/v1/workspaces/:id/verify-password',
];

/** Further open routes, which write nothing or only what readers need. */
const OPEN_EXTENSIONS = [
  'POST /api/v1/workspaces/:id/files/batch-download',
  'POST /api/assets/import',
  ...['POST /auth/desktop-handoff', 'POST /auth/web-handoff', 'POST /account', 'POST /account/sign-out'],
  ...['POST /account/sessions/end', 'POST /account/sessions/end-others', 'POST /account/export'],
  'POST /auth/single-sign-on',
  // Hidden from all but administrators; actions that create or remove accounts are refused separately.
  ...['POST /admin/confirm', 'POST /admin/accounts/:userId/:action', 'POST /admin/service/kill-switch'],
  ...['POST /admin/service/doctor', 'POST /admin/invitations', 'POST /admin/invitations/revoke'],
];

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
const isOpen = (route: Route): boolean =>
  route.method === 'GET' || [...OPEN, ...OPEN_EXTENSIONS].includes(nameOf(route));

/** Whether the route answers with a page for browsers. */
const isPage = ({ path }: Route): boolean => !path.startsWith('/api/');

let service: TestService;
let other: TestService;
let alice: TestUser;
let workspace: TestWorkspace;

beforeAll(async () => {
  service = await startService();
  other = await startService({ beside: service });
  alice = await service.user('alice');
  workspace = await alice.workspace();
  await workspace.put('a', 'one').expect(201);
});
afterEach(() => set('off'));
afterAll(async () => {
  await other.close();
  await service.close();
});

async function set(mode: Mode): Promise<void> {
  await service.app.get(KillSwitch).set(mode);
  for (const { app } of [service, other]) await eventually(() => expect(app.get(KillSwitch).mode).toBe(mode));
}

function ask(route: Route, url = service.url): ReturnType<TestUser['get']> {
  const path = route.path.replace(':id', workspace.id).replace('*', 'get-session');
  const method = route.method === 'ALL' ? 'get' : route.method.toLowerCase();
  return alice.at(url).request(method as 'get', path.replaceAll(/:\w+/g, 'a'));
}

describe('read-only', () => {
  beforeEach(() => set('read-only'));

  it.each(ROUTES.filter((route) => !isOpen(route)).map((route) => [nameOf(route), route]))(
    '%s is 503 with Retry-After',
    async (_, route) => {
      const { body, text, headers } = await ask(route)
        .type(isPage(route) ? 'form' : 'json')
        .send({})
        .expect(503);
      if (isPage(route)) expect(text).toMatch(/^<!DOCTYPE html>[^]*read-only for maintenance/i);
      else expect(body).toEqual({ error: 'the service is read-only for maintenance' });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    },
  );

  it.each(ROUTES.filter(isOpen).map((route) => [nameOf(route), route]))('%s stays open', async (_, route) => {
    const { body } = await ask(route);
    expect(body?.error).not.toBe('the service is read-only for maintenance'); // null without a session
  });

  it('answers reads and changes nothing for writes', async () => {
    const before = await checksums(service.database);
    await workspace.put('b', 'two').expect(503);
    await workspace.delete('a').expect(503);
    await alice.post('/api/v1/auth/tokens').send({ name: 'cli' }).expect(503);
    await alice.post('/api/v1/workspaces').send({ name: 'new' }).expect(503);
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
    expect((await workspace.pull(0).expect(200)).body.changes).toHaveLength(1);
    await workspace.get('a').expect(200);
  });

  it('allows sign-ins, and refuses sign-ups', async () => {
    await set('off');
    const credentials = { email: 'carol@example.org', password: 'a long password', name: 'Carol' };
    const sign = (action: string): Promise<Response> =>
      fetch(`${service.url}/api/auth/${action}/email`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: 'http://localhost:8787' },
        body: JSON.stringify(credentials),
      });
    expect((await sign('sign-up')).status).toBe(200);
    await set('read-only');
    expect((await sign('sign-in')).status).toBe(200);
    expect((await sign('sign-up')).status).toBe(503);
  });

  it('allows dev-login for existing users, but creates no account', async () => {
    const before = await checksums(service.database);
    await expect(service.newcomer('nobody-yet')).rejects.toThrow('503');
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
    expect((await service.newcomer('alice')).id).toBe(alice.id);
  });
});

describe('a request in flight when the mode changes', () => {
  const body = 'x'.repeat(100_000);
  const upload = (): ReturnType<TestUser['get']> =>
    workspace.user.put(workspace.file('late')).set({
      'Content-Type': 'application/octet-stream',
      'X-Device-Id': 'd',
      'X-Content-Hash': sha256(body),
    });

  it.each<[Mode, string, () => ReturnType<TestUser['get']>]>([
    ['read-only', body, upload],
    ['down', body, upload],
    ['read-only', '{"name":"late"}', () => alice.post('/api/v1/workspaces').type('json')],
    ['down', '{"cursor":0}', () => alice.post(`${workspace.path}/sync/pull`).type('json')],
  ])('to %s is 503, and writes nothing', async (mode, bytes, requestOf) => {
    const finish = await begunRequest(service, requestOf(), bytes);
    await set(mode);
    const before = await checksums(service.database);
    const { status, headers } = await finish();
    expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    const changed = changedTables(before, await checksums(service.database));
    expect(changed.filter((table) => table !== 'blobs')).toEqual([]); // a blob may be staged and removed
  });

  it('to read-only is answered when it only reads', async () => {
    const pull = alice.post(`${workspace.path}/sync/pull`).type('json');
    const finish = await begunRequest(service, pull, '{"cursor":0,"deviceId":"d"}');
    await set('read-only');
    expect((await finish()).status).toBe(200);
  });

  it('to read-only is 503 when it is a sign-up', async () => {
    const account = JSON.stringify({ email: 'late@example.org', name: 'late', password: 'a long password' });
    const socket = openSocket(service.url);
    const head = { Host: new URL(BASE_URL).host, Origin: BASE_URL, Connection: 'close' };
    const all = { ...head, 'Content-Type': 'application/json', 'Content-Length': String(account.length) };
    const read = jest.spyOn(IncomingMessage.prototype, 'iterator');
    socket.write(headOf('POST', '/api/auth/sign-up/email', all));
    await eventually(() => expect(read).toHaveBeenCalled());
    read.mockRestore();
    await set('read-only');
    socket.write(account);
    expect(answerOf(await received(socket)).status).toBe(503);
  });
});

describe('down', () => {
  it('answers 503 to everything except health, including unknown addresses and upgrades', async () => {
    const socket = await TestSocket.join(workspace.as(alice.at(other.url)), 'laptop');
    await set('down');
    for (const route of ROUTES) {
      const { status, body } = await ask(route);
      if (route.path.startsWith('/health')) expect(status).toBe(200);
      else expect([nameOf(route), status, body.error]).toEqual([nameOf(route), 503, expect.any(String)]);
    }
    await alice.get('/no/such/route').expect(503);
    await expect(TestSocket.open(other.url, workspace.id, alice.token)).rejects.toThrow('503');
    expect(await socket.closed()).toBe(1013);
  });

  it('refuses an upgrade that is being checked when it is switched on', async () => {
    const assets = service.app.get(AssetFeed, { strict: false });
    const revision = assets.revision.bind(assets);
    const spy = jest.spyOn(assets, 'revision').mockImplementationOnce(async (id) => {
      await set('down'); // the last query before the 101
      return revision(id);
    });
    try {
      await expect(TestSocket.open(service.url, workspace.id, alice.token)).rejects.toThrow('503');
    } finally {
      spy.mockRestore();
    }
  });

  it('ends as soon as it is switched off', async () => {
    await set('down');
    await set('off');
    await workspace.get('a').expect(200);
    await TestSocket.join(workspace, 'laptop').then((socket) => socket.close());
  });
});

describe('the mode', () => {
  it('is not undone by a late answer of the database', async () => {
    const { app } = other;
    const killSwitch = app.get(KillSwitch);
    const stored = app.get<Repository<StoredMode>>(getRepositoryToken(StoredMode), { strict: false });
    const modes: Mode[] = [];
    killSwitch.onChange((mode) => modes.push(mode));
    const find = stored.findOneBy.bind(stored);
    let hold: Promise<void> | undefined;
    let letGo = (): void => undefined;
    hold = new Promise((resolve) => (letGo = resolve));
    const asked: Promise<unknown>[] = [];
    const spy = jest.spyOn(stored, 'findOneBy').mockImplementation(async (where) => {
      const answer = find(where);
      asked.push(answer);
      const isHeld = hold;
      hold = undefined; // only the first
      await answer;
      await isHeld;
      return answer;
    });
    try {
      const late = killSwitch.look();
      await eventually(() => expect(asked).toHaveLength(1));
      await asked[0];
      await service.app.get(KillSwitch).set('down');
      const newer = killSwitch.look();
      await Promise.all(asked);
      await new Promise((resolve) => setImmediate(resolve));
      letGo();
      await Promise.all([late, newer]);
      expect([killSwitch.mode, modes]).toEqual(['down', ['down']]);
    } finally {
      spy.mockRestore();
    }
  });

  it('is the same for all instances', async () => {
    await set('read-only');
    await workspace.as(alice.at(other.url)).put('b', 'two').expect(503);
  });

  itDeep('reaches an instance that misses the event, which checks every other second', async () => {
    const mine = service.app.get(EventBus);
    const publish = mine.publish;
    for (const mode of ['read-only', 'down', 'off'] as const) {
      mine.publish = () => undefined;
      try {
        await service.app.get(KillSwitch).set(mode);
      } finally {
        mine.publish = publish;
      }
      await eventually(() => expect(other.app.get(KillSwitch).mode).toBe(mode));
    }
  });

  it('survives a restart', async () => {
    await set('read-only');
    const restarted = await startService({ beside: service });
    await workspace.as(alice.at(restarted.url)).put('b', 'two').expect(503);
    await restarted.close();
  });

  itDeep('is set by the admin command, beside a running service', async () => {
    const env = { DATA_DIR: service.dataDir, DATABASE_URL: service.database.url };
    const command = ['kill-switch', 'read-only', '--json'];
    expect(await runProcess(env, ADMIN, command)).toEqual({
      code: 0,
      output: '{"mode":"read-only"}\n',
    });
    await eventually(() => workspace.put('b', 'two').expect(503));
    expect(await adminEnded(env, 'kill-switch', 'off')).toMatchObject({ code: 0 });
    await eventually(() => workspace.put('c', 'three').expect(201));
  });
});
