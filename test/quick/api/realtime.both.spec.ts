import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import WebSocket from 'ws';
import { Database } from '../../../src/platform/database/index.js';
import { AssetFeed } from '../../../src/domain/realtime/asset-feed.js';
import { Heartbeat, SocketShutdown } from '../../../src/domain/realtime/socket-adapter.js';
import { Connection } from '../../../src/domain/realtime/socket-connection.js';
import { Connections } from '../../../src/domain/realtime/connections.js';
import { RoomReconciler } from '../../../src/domain/realtime/room-reconciler.js';
import { Rooms } from '../../../src/domain/realtime/rooms.js';
import { TokenWatch } from '../../../src/domain/realtime/token-watch.js';
import { TestAssets } from '../../kit/assets.js';
import {
  BASE_URL,
  eventually,
  sha256,
  socketUrl,
  startService,
  TestSocket,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { describeDeep, itDeep } from '../../kit/rounds.js';

const MINUTE = 60_000;

let service: TestService;
let alice: TestUser;
let workspace: TestWorkspace;
const sockets: TestSocket[] = [];

beforeAll(async () => {
  service = await startService();
  alice = await service.user('alice');
  // Without its polling, clients learn of changes only by the event that each write publishes.
  Object.assign(service.app.get(RoomReconciler), { looks: { run: () => Promise.resolve() } });
});

beforeEach(async () => {
  workspace = await alice.workspace();
});

afterEach(async () => {
  await Promise.all(sockets.splice(0).map((socket) => socket.close()));
});

afterAll(() => service.close());

const join = async (deviceId: string, room = workspace): Promise<TestSocket> => {
  const socket = await TestSocket.join(room, deviceId);
  sockets.push(socket);
  return socket;
};

const open = async (room = workspace): Promise<TestSocket> => {
  const socket = await TestSocket.open(service.url, room.id, room.user.token);
  sockets.push(socket);
  return socket;
};

async function mint(scopes: string[], more: object = {}): Promise<{ id: string; token: string }> {
  const request = alice.post('/api/v1/auth/tokens').send({ name: 'cli', scopes, ...more });
  return (await request.expect(201)).body;
}

describe('the upgrade', () => {
  it('is refused before the 101, with a flat error and a request id', async () => {
    const bob = await service.user('bob');
    const assetsOnly = (await mint(['assets:read'])).token;
    const bound = (await mint(['documents:read'], { workspaceId: (await alice.workspace()).id })).token;
    const refusals = [
      [undefined, workspace.id, 401],
      ['nonsense', workspace.id, 401],
      [`pat_${'x'.repeat(43)}`, workspace.id, 401],
      [assetsOnly, workspace.id, 403],
      [bob.token, workspace.id, 404],
      [bound, workspace.id, 404],
      [alice.token, '01890000-0000-7000-8000-000000000000', 404],
      [alice.token, 'no-uuid', 404],
      [alice.token, '%E0%A4%A', 404],
    ] as const;
    for (const [token, id, status] of refusals) {
      const answer = await upgrade(`/api/v1/workspaces/${id}/ws${token ? `?token=${token}` : ''}`);
      expect(answer.status).toBe(status);
      expect(Object.keys(answer.body)).toEqual(['error']);
      expect(answer.head).toMatch(/x-request-id: [0-9a-f-]{36}/i);
      expect(answer.head).toMatch(/connection: close/i);
      if (status === 401) expect(answer.head).toMatch(/www-authenticate: Bearer/i);
    }
  });

  it('has in its 101 the request id of its log line, a new one each time', async () => {
    const ids = [];
    for (const { socket, received } of [await silentPeer(), await silentPeer()]) {
      const [, id = 'none'] = /\r\nX-Request-Id: ([0-9a-f-]{36})\r\n/i.exec(received()) ?? [];
      const logged = service.logged().split('\n');
      expect(logged.find((line) => line.includes(`"requestId":"${id}"`))).toContain('"status":101');
      ids.push(id);
      socket.destroy();
    }
    expect(new Set(ids).size).toBe(2);
  });

  it('does not reveal whether another user has the workspace', async () => {
    const bob = await service.user('bob');
    const foreign = await upgrade(`/api/v1/workspaces/${workspace.id}/ws?token=${bob.token}`);
    const absent = await upgrade(
      `/api/v1/workspaces/01890000-0000-7000-8000-000000000000/ws?token=${bob.token}`,
    );
    expect(foreign.body).toEqual(absent.body);
  });

  it('takes the token from the Authorization header, or without one from the query', async () => {
    const path = `/api/v1/workspaces/${workspace.id}/ws`;
    const { token } = alice;
    const { token: patToken } = await mint(['documents:read']);
    const wrong = `pat_${'x'.repeat(43)}`;
    const cases: [query: string, header: string | undefined, status: number][] = [
      ['', `Bearer ${token}`, 101],
      ['', `bearer  ${patToken}`, 101],
      [`?token=${wrong}`, `Bearer ${token}`, 101], // the header counts
      [`?token=${token}&token=${token}`, `Bearer ${token}`, 101],
      [`?token=${token}`, `Bearer ${wrong}`, 401],
      [`?token=${token}`, `Basic ${token}`, 401],
      [`?token=${token}`, 'Bearer', 401],
      [`?token=${token}`, `Bearer ${token} ${token}`, 401],
      [`?token=${token}`, token, 401],
      [`?token=${token}`, '', 401],
      [`?token=${token}`, undefined, 101],
      [`?token=${token}&token=${token}`, undefined, 401],
      ['?token=', undefined, 401],
    ];
    for (const [query, header, status] of cases) {
      const url = `${service.url.replace(/^http/, 'ws')}${path}${query}`;
      const socket = new WebSocket(url, header === undefined ? {} : { headers: { Authorization: header } });
      const answer = await new Promise<number>((resolve) => {
        socket.once('open', () => resolve(101));
        socket.once('unexpected-response', (request, { statusCode = 0 }) => {
          request.destroy();
          resolve(statusCode);
        });
        socket.on('error', () => undefined);
      });
      socket.terminate();
      expect([query, header, answer]).toEqual([query, header, status]);
    }
  });

  it('opens a socket with only the header, which receives changes; cookies are ignored', async () => {
    const url = socketUrl(service.url, workspace.id);
    const raw = new WebSocket(url, { headers: { Authorization: `Bearer ${alice.token}` } });
    const frames: string[] = [];
    raw.on('message', (data: Buffer) => frames.push((JSON.parse(String(data)) as { type: string }).type));
    await once(raw, 'open');
    raw.send(JSON.stringify({ type: 'hello', cursor: 0, deviceId: 'with-a-header' }));
    await eventually(() => expect(frames).toEqual(['welcome']));
    await workspace.put('told', 'content').expect(201);
    await eventually(() => expect(frames).toContain('changes'));
    raw.terminate();

    const account = {
      email: 'cookies@example.org',
      name: 'Cookies',
      password: 'correct horse battery staple',
    };
    const signedUp = await fetch(`${service.url}/api/auth/sign-up/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(account),
    });
    const cookie = signedUp.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ');
    expect(cookie).not.toBe('');
    const own = `Origin: ${BASE_URL}\r\nCookie: ${cookie}`;
    expect((await upgrade(`/api/v1/workspaces/${workspace.id}/ws`, own)).status).toBe(401);
  });

  it('is only for WebSockets, and only at this path', async () => {
    const path = `/api/v1/workspaces/${workspace.id}`;
    expect((await upgrade(`${path}/ws/?token=${alice.token}`)).status).toBe(404);
    expect((await upgrade(`${path}/files?token=${alice.token}`)).status).toBe(404);
    await alice.get(`${path}/ws`).expect(426, { error: 'a WebSocket upgrade is required' });
  });

  it('is ignored for other protocols', async () => {
    const asked = {
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AAMAAABkAAQAAP__',
    };
    await alice.get('/health').set(asked).expect(200, { ok: true });
    await workspace.put('a', 'one').set(asked).expect(201);
    await alice.get(`${workspace.path}/ws`).set(asked).expect(426);
  });

  it('is refused with a flat error when it is malformed', async () => {
    const answer = await upgrade(
      `/api/v1/workspaces/${workspace.id}/ws?token=${alice.token}`,
      'Sec-WebSocket-Protocol: ,',
    );
    expect(answer.status).toBe(400);
    expect(Object.keys(answer.body)).toEqual(['error']);
    expect(answer.head).toMatch(/x-request-id/i);
  });

  it('leaves no connection behind when it is refused, although the client keeps its half open', async () => {
    const server = service.app.getHttpServer();
    const count = (): Promise<number> =>
      new Promise((resolve, reject) =>
        server.getConnections((error, n) => (error ? reject(error) : resolve(n))),
      );
    const before = await count();
    const { port } = new URL(service.url);
    const halves = Array.from({ length: 20 }, () =>
      connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }),
    );
    for (const half of halves) {
      half.on('error', () => undefined);
      half.resume();
      half.write(request(`/api/v1/workspaces/${workspace.id}/ws?token=nonsense`));
    }
    await Promise.all(halves.map((half) => once(half, 'end')));
    await eventually(async () => expect(await count()).toBeLessThanOrEqual(before));
    for (const half of halves) half.destroy();
  });

  it('accepts a token with documents:read, and uses no compression', async () => {
    const { token } = await mint(['documents:read'], { workspaceId: workspace.id });
    const socket = await TestSocket.open(service.url, workspace.id, token);
    sockets.push(socket);
    expect(socket.raw.extensions).toBe('');
  });

  it('leaves no token in the log', async () => {
    const { token } = await mint(['documents:read']);
    await TestSocket.open(service.url, workspace.id, token).then((socket) => sockets.push(socket));
    await upgrade(`/api/v1/workspaces/${workspace.id}/ws?token=pat_wrong-but-secret`);
    await eventually(() => expect(service.logged()).toContain('token=[redacted]'));
    expect(service.logged()).not.toContain(token);
    expect(service.logged()).not.toContain('wrong-but-secret');
  });

  it('leaves no path of a note in the log when no route matches', async () => {
    await upgrade('/api/v1/automation/workspaces/x/notes/my-diary');
    await eventually(() => expect(service.logged()).toContain('"url":"[unrouted]"'));
    expect(service.logged()).not.toContain('my-diary');
  });

  itDeep('allows a thousand sockets in a workspace, also when many are opened at once', async () => {
    const opened: WebSocket[] = [];
    const knock = (room = workspace): Promise<number> => {
      const { socket, answered } = knockAt(room);
      opened.push(socket);
      return answered;
    };
    const knockTogether = (times: number): Promise<number[]> =>
      Promise.all(Array.from({ length: times }, () => knock()));
    for (let i = 0; i < 9; i++) expect(new Set(await knockTogether(100))).toEqual(new Set([101]));
    const answers = await knockTogether(150);
    expect(answers.filter((status) => status === 101)).toHaveLength(100);
    expect(answers.filter((status) => status === 429)).toHaveLength(50);
    expect(await knock(await alice.workspace())).toBe(101);
    for (const socket of opened) socket.terminate();
    await eventually(() => expect(service.app.get(Connections, { strict: false }).size).toBe(0));
    await join('laptop');
  });

  it.each([
    [429, 'a user', 2_000, (all: Connections) => jest.spyOn(all, 'countOf')],
    [503, 'an instance', 8_000, (all: Connections) => jest.spyOn(all, 'size', 'get')],
  ] as const)('is %i when %s has %i sockets, and is accepted below', async (refusal, _, most, counting) => {
    const count = counting(service.app.get(Connections, { strict: false })) as jest.Spied<() => number>;
    try {
      for (const [there, status] of [
        [most - 1, 101],
        [most, refusal],
      ] as const) {
        count.mockReturnValue(there);
        const { socket, answered } = knockAt(workspace);
        expect(await answered).toBe(status);
        socket.terminate();
      }
    } finally {
      count.mockRestore();
    }
  });

  it('at 8,000 sockets closes the oldest one without hello of the user with the most', async () => {
    const connections = service.app.get(Connections, { strict: false });
    const bob = await (await service.user('bob')).workspace();
    const closed: string[] = [];
    const joined = await join('joined');
    const knockSilently = async (name: string): Promise<WebSocket> => {
      const { socket, answered } = knockAt(workspace);
      socket.once('close', (code) => closed.push(`${name}: ${code}`));
      expect(await answered).toBe(101);
      return socket;
    };
    await knockSilently('older');
    const younger = await knockSilently('younger');
    const size = jest.spyOn(connections, 'size', 'get').mockReturnValue(8_000);
    try {
      const { socket, answered } = knockAt(bob);
      expect(await answered).toBe(101);
      await eventually(() => expect(closed).toEqual(['older: 1013']));
      socket.terminate();
    } finally {
      size.mockRestore();
      younger.terminate();
      await joined.close();
    }
  });

  it('survives clients that reset the connection', async () => {
    for (let i = 0; i < 20; i++) {
      const socket = await connected();
      socket.write(request(`/api/v1/workspaces/${workspace.id}/ws?token=${alice.token}`));
      socket.resetAndDestroy();
    }
    await join('after');
  });

  itDeep(
    'counts towards the rate limit of the user, and is logged with the address from the proxy',
    async () => {
      const limited = await startService({ env: { RATE_LIMIT_PER_MINUTE: '24', TRUST_PROXY: 'true' } });
      limited.clock.stopAt(new Date('2027-01-01T00:00:00Z'));
      const { id, token } = await limited.newcomer('eve');
      expect(id).toBeDefined();
      const statuses = [];
      for (let i = 0; i < 26; i++) {
        const path = `/api/v1/workspaces/01890000-0000-7000-8000-000000000000/ws?token=${token}`;
        const header = 'X-Forwarded-For: 198.51.100.7, 203.0.113.9';
        statuses.push((await upgrade(path, header, 'websocket', limited.url)).status);
      }
      expect(statuses.at(0)).toBe(404);
      expect(statuses.at(-1)).toBe(429);
      await eventually(() =>
        expect(limited.logged()).toMatch(/"status":429,"ip":"203\.0\.113\.9","message":"upgrade"/),
      );
      await limited.close();
    },
  );
});

describe('hello', () => {
  it('is answered by welcome with the head and the number of devices', async () => {
    await workspace.put('a', 'one').expect(201);
    await workspace.put('b', 'two').expect(201);
    const laptop = await join('laptop');
    expect(laptop.frames).toEqual([{ type: 'welcome', cursor: 2, deviceCount: 1 }]);
    const phone = await join('phone');
    expect(phone.frames).toEqual([{ type: 'welcome', cursor: 2, deviceCount: 2 }]);
  });

  it('counts a second socket of a device as the same device', async () => {
    const first = await join('laptop');
    const second = await join('laptop');
    expect(second.of('welcome')).toEqual([{ type: 'welcome', cursor: 0, deviceCount: 1 }]);
    await first.settled();
    expect(first.of('device_connected')).toEqual([]);
  });

  it('may be repeated, but not as another device', async () => {
    const socket = await join('laptop');
    await workspace.put('a', 'one').expect(201);
    socket.say({ type: 'hello', cursor: 0, deviceId: 'laptop' });
    expect(await socket.frame('welcome', 1)).toEqual({ type: 'welcome', cursor: 1, deviceCount: 1 });
    socket.say({ type: 'hello', cursor: 0, deviceId: 'phone' });
    expect(await socket.frame('error')).toMatchObject({ code: 'invalid_message' });
    expect((await join('tablet')).of('welcome')).toMatchObject([{ deviceCount: 2 }]);
  });

  it('updates the last-seen time of a registered device', async () => {
    const created = await alice.post('/api/v1/devices').send({ name: 'Desk', platform: 'linux' }).expect(201);
    await join(created.body.id);
    await eventually(async () => {
      const { body } = await alice.get('/api/v1/devices').expect(200);
      const device = (body.devices as { id: string; last_seen_at: string | null }[]).find(
        ({ id }) => id === created.body.id,
      );
      expect(device?.last_seen_at).toBeTruthy();
    });
  });
});

describe('messages', () => {
  it('are answered with pong when they are pings, even before hello', async () => {
    const socket = await open();
    socket.say({ type: 'ping' });
    expect(await socket.frame('pong')).toEqual({ type: 'pong' });
  });

  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['null', 'null'],
    ['no type', '{}'],
    ['an unknown type', { type: 'shout' }],
    ['a property of every object as type', { type: 'constructor' }],
    ['hello without a cursor', { type: 'hello', deviceId: 'laptop' }],
    ['hello with a text as cursor', { type: 'hello', cursor: '1', deviceId: 'laptop' }],
    ['hello with a negative cursor', { type: 'hello', cursor: -1, deviceId: 'laptop' }],
    ['hello with a fraction', { type: 'hello', cursor: 1.5, deviceId: 'laptop' }],
    ['hello without a device', { type: 'hello', cursor: 0 }],
    ['hello with an empty device', { type: 'hello', cursor: 0, deviceId: '' }],
    ['hello with a space in its device', { type: 'hello', cursor: 0, deviceId: 'my laptop' }],
    ['hello with too long a device', { type: 'hello', cursor: 0, deviceId: 'x'.repeat(129) }],
  ])('are answered with invalid_message when they are %s, and the socket stays open', async (_, message) => {
    const socket = await open();
    socket.say(message);
    expect(await socket.frame('error')).toMatchObject({ code: 'invalid_message' });
    socket.say({ type: 'hello', cursor: 0, deviceId: 'laptop' });
    await socket.frame('welcome');
  });

  it('are answered with invalid_message when they are binary', async () => {
    const socket = await open();
    socket.raw.send(Buffer.from('{"type":"ping"}'));
    expect(await socket.frame('error')).toMatchObject({ code: 'invalid_message' });
  });

  it('may have 64 KiB, and close the socket with 1009 beyond', async () => {
    const socket = await open();
    const padded = (bytes: number): string => `{"type":"ping","x":"${'x'.repeat(bytes - 22)}"}`;
    socket.say(padded(64 * 1024));
    await socket.frame('pong');
    socket.say(padded(64 * 1024 + 1));
    expect(await socket.closed()).toBe(1009);
  });

  it('close the socket with 4429 at the 31st in ten seconds', async () => {
    const socket = await open();
    for (let i = 0; i < 30; i++) socket.say({ type: 'ping' });
    await socket.frame('pong', 29);
    socket.say({ type: 'ping' });
    expect(await socket.frame('error')).toMatchObject({ code: 'rate_limited' });
    expect(await socket.closed()).toBe(4429);
    expect(socket.of('pong')).toHaveLength(30);
  });

  it.each([
    ['pings', (socket: TestSocket) => socket.raw.ping()],
    ['unsolicited pongs', (socket: TestSocket) => socket.raw.pong()],
  ])('include %s in the limit', async (_, send) => {
    const socket = await open();
    for (let i = 0; i < 20; i++) socket.say({ type: 'ping' });
    for (let i = 0; i < 11; i++) send(socket);
    expect(await socket.frame('error')).toMatchObject({ code: 'rate_limited' });
    expect(await socket.closed()).toBe(4429);
  });

  it('do not count when they are pongs to pings of the server', async () => {
    const socket = await open();
    const [connection] = service.app.get(Connections).of(workspace.id);
    const { socket: library } = connection as unknown as { socket: WebSocket };
    for (let i = 0; i < 40; i++) {
      const answered = once(library, 'pong');
      connection!.ping(service.clock.elapsed());
      await answered;
    }
    for (let i = 0; i < 30; i++) socket.say({ type: 'ping' });
    await socket.frame('pong', 29);
  });

  it('are not parsed beyond the packet in which they exceed the limit', async () => {
    const { socket, received } = await silentPeer();
    const [connection] = service.app.get(Connections).of(workspace.id);
    const { socket: library } = connection as unknown as { socket: WebSocket };
    let parsed = 0;
    library.on('pong', () => parsed++);
    const closed = once(library, 'close');
    const packet = Buffer.from('8a8000000000', 'hex').toString('latin1').repeat(10_000);
    for (let i = 0; i < 30; i++) socket.write(packet, 'latin1');
    await eventually(() => expect(received()).toContain('rate_limited'));
    socket.end();
    await closed;
    expect(parsed).toBeLessThan(50_000);
  });

  it('are allowed again after ten seconds', async () => {
    const socket = await open();
    for (let i = 0; i < 30; i++) socket.say({ type: 'ping' });
    await socket.frame('pong', 29);
    service.clock.advance(10_000);
    for (let i = 0; i < 30; i++) socket.say({ type: 'ping' });
    await socket.frame('pong', 59);
  });
});

describe('changes', () => {
  it('reach every other device once for an upload', async () => {
    const [laptop, phone, tablet] = [await join('laptop'), await join('phone'), await join('tablet')];
    const { body } = await workspace.put('bm90ZQ', 'one', 'laptop').expect(201);
    const { contentHash, encryptedSize, version } = body;
    const change = { encryptedPath: 'bm90ZQ', action: 'upsert', contentHash, encryptedSize, version };
    for (const other of [phone, tablet]) {
      expect(await other.frame('changes')).toEqual({ type: 'changes', changes: [change], cursor: 1 });
      await other.settled();
      expect(other.of('changes')).toHaveLength(1);
    }
    await laptop.settled();
    expect(laptop.of('changes')).toEqual([]);
  });

  it('are not sent to any socket of the device that made them', async () => {
    const [first, second, phone] = [await join('laptop'), await join('laptop'), await join('phone')];
    await workspace.put('a', 'one', 'laptop').expect(201);
    await phone.frame('changes');
    await first.settled();
    await second.settled();
    expect([...first.of('changes'), ...second.of('changes')]).toEqual([]);
  });

  it('are announced for a deletion, a push and a restore', async () => {
    const phone = await join('phone');
    await workspace.put('a', 'one').expect(201);
    await workspace.put('b', 'two').expect(201);
    await workspace.delete('a').expect(200);
    await workspace.push(3, ['b']).expect(200);
    const [version] = await workspace.versions('a');
    await workspace.restore('a', version?.id ?? '').expect(200);
    await eventually(() => expect(phone.of('changes').at(-1)?.['cursor']).toBe(5));
    const changes = phone.of('changes').flatMap((frame) => frame['changes'] as { action: string }[]);
    expect(changes).toMatchObject([
      { encryptedPath: 'a', action: 'upsert', version: 1 },
      { encryptedPath: 'b', action: 'upsert', version: 1 },
      { encryptedPath: 'a', action: 'delete', version: 1 },
      { encryptedPath: 'b', action: 'delete', version: 1 },
      { encryptedPath: 'a', action: 'upsert', version: 2 },
    ]);
  });

  it('are announced in one message for one push', async () => {
    const phone = await join('phone');
    const paths = Array.from({ length: 40 }, (_, index) => `note-${index}`);
    for (const path of paths) await workspace.put(path, path, 'phone').expect(201);
    await workspace.push(40, paths, 'laptop').expect(200);
    const { cursor, changes } = await phone.frame('changes');
    expect(cursor).toBe(80);
    expect(changes).toHaveLength(40);
    await phone.settled();
    expect(phone.of('changes')).toHaveLength(1);
  });

  it('reach every device for a restore without a device id', async () => {
    await workspace.put('a', 'one').expect(201);
    const laptop = await join('laptop');
    const [version] = await workspace.versions('a');
    await workspace.restore('a', version?.id ?? '', null).expect(200);
    expect(await laptop.frame('changes')).toMatchObject({ cursor: 2 });
  });

  it('are not announced when nothing changed', async () => {
    await workspace.put('a', 'one').expect(201);
    const phone = await join('phone');
    await workspace.put('a', 'one').expect(200);
    await workspace.delete('absent').expect(404);
    await workspace.push(1, ['absent']).expect(200);
    await workspace
      .put('a', 'two')
      .set('If-Match', `"${'0'.repeat(64)}"`)
      .expect(412);
    await workspace.put('a', 'two').set('X-Content-Hash', '0'.repeat(64)).expect(400);
    await workspace.put('b', 'end').expect(201);
    await eventually(() => expect(phone.of('changes')).toMatchObject([{ cursor: 2 }]));
  });

  it('are not announced before hello', async () => {
    const silent = await open();
    const phone = await join('phone');
    await workspace.put('a', 'one').expect(201);
    await phone.frame('changes');
    await silent.settled();
    expect(silent.of('changes')).toEqual([]);
  });

  it('stay within their workspace', async () => {
    const other = await alice.workspace('other');
    const [here, there] = [await join('phone'), await join('phone', other)];
    await other.put('a', 'one').expect(201);
    await there.frame('changes');
    await here.settled();
    expect(here.of('changes')).toEqual([]);
  });

  it('are not missed when they are committed while a device says hello', async () => {
    for (let round = 0; round < 20; round++) {
      const writes = Array.from({ length: 5 }, (_, i) => workspace.put(`p${round}-${i}`, 'x').expect(201));
      const phone = await join(`phone-${round}`);
      await Promise.all(writes);
      const welcomed = phone.of('welcome')[0]?.['cursor'] as number;
      const head = (round + 1) * 5;
      const told = (): number[] => phone.of('changes').map((frame) => (frame['changes'] as object[]).length);
      await eventually(() => expect(welcomed + told().reduce((sum, n) => sum + n, 0)).toBe(head));
    }
  });
});

describe('assets-changed', () => {
  it('wakes every open socket once for each upload, including one that has not said hello', async () => {
    const [silent, laptop] = [await open(), await join('laptop')];
    const assets = TestAssets.of(workspace);
    await assets.create('a').expect(201);
    expect(await silent.frame('assets-changed')).toEqual({ type: 'assets-changed' });
    silent.say({ type: 'hello', cursor: 0, deviceId: 'phone' });
    await silent.frame('welcome');
    await assets.create('b').expect(201);
    for (const socket of [silent, laptop]) {
      await socket.frame('assets-changed', 1);
      await socket.settled();
      expect(socket.of('assets-changed')).toHaveLength(2);
    }
  });

  it('wakes a socket for uploads from its opening on, and not for earlier ones', async () => {
    const assets = TestAssets.of(workspace);
    for (let round = 0; round < 20; round++) {
      const socket = await open();
      await assets.create(`token-${round}`).expect(201);
      await socket.frame('assets-changed');
      await socket.settled();
      expect(socket.of('assets-changed')).toHaveLength(1);
    }
  });
});

describe('presence', () => {
  it('announces a connected device by its registered name, and a disconnected one', async () => {
    const { body } = await alice
      .post('/api/v1/devices')
      .send({ name: 'My phone', platform: 'ios' })
      .expect(201);
    const laptop = await join('laptop');
    const phone = await join(body.id);
    expect(await laptop.frame('device_connected')).toEqual({
      type: 'device_connected',
      deviceId: body.id,
      deviceName: 'My phone',
    });
    const tablet = await join('tablet');
    expect(await laptop.frame('device_connected', 1)).toMatchObject({
      deviceId: 'tablet',
      deviceName: 'tablet',
    });
    await phone.close();
    expect(await laptop.frame('device_disconnected')).toEqual({
      type: 'device_disconnected',
      deviceId: body.id,
    });
    expect(await tablet.frame('device_disconnected')).toMatchObject({ deviceId: body.id });
    expect(phone.of('device_connected')).toMatchObject([{ deviceId: 'tablet' }]);
  });

  it('announces a disconnected device when its last socket has closed', async () => {
    const laptop = await join('laptop');
    const [first, second] = [await join('phone'), await join('phone')];
    await first.close();
    await laptop.settled();
    expect(laptop.of('device_disconnected')).toEqual([]);
    await second.close();
    await laptop.frame('device_disconnected');
  });

  it('does not count a socket that has not said hello', async () => {
    await open();
    expect((await join('laptop')).of('welcome')).toMatchObject([{ deviceCount: 1 }]);
  });

  it('never shows the name of another user’s device', async () => {
    const bob = await service.user('bob');
    const { body } = await bob.post('/api/v1/devices').send({ name: 'Bob', platform: 'ios' }).expect(201);
    const laptop = await join('laptop');
    await join(body.id);
    expect(await laptop.frame('device_connected')).toMatchObject({ deviceName: body.id });
  });

  describeDeep('presence of many devices', () => {
    const MANY = 80;

    /** Sockets of one device, which are told of other devices but not of each other. */
    const listeners = (): Promise<TestSocket[]> =>
      Promise.all(Array.from({ length: MANY }, () => join('laptop')));

    const others = (): Promise<TestSocket[]> =>
      Promise.all(Array.from({ length: MANY }, (_, index) => join(`device-${index}`)));

    it('is announced in batches when they connect and disconnect together, once and in order', async () => {
      const told = await listeners();
      const largest = mostSentInATurn();
      const gone = await others();
      const deviceIds = gone.map((_, index) => `device-${index}`).sort();
      for (const socket of gone) socket.raw.terminate();
      for (const socket of told) {
        await socket.frame('device_disconnected', MANY - 1);
        await socket.settled();
        for (const type of ['device_connected', 'device_disconnected'])
          expect(
            socket
              .of(type)
              .map(({ deviceId }) => deviceId as string)
              .sort(),
          ).toEqual(deviceIds);
        expectTalliedWelcomes(socket);
      }
      expect(largest()).toBeLessThan((MANY * MANY) / 4);
    });

    it('is counted in a second welcome as announced so far, even between announcements', async () => {
      const told = await listeners();
      const gone = await others();
      const last = told.at(-1)!;
      const { changes, devices } = service.app.get(Rooms, { strict: false }).get(workspace.id)!;
      const readsChanges = jest.spyOn(changes, 'catchUp').mockImplementationOnce(async () => {
        for (const socket of gone) socket.raw.terminate();
        while (devices.count > 1) await new Promise(setImmediate); // counted, and still being told
      });
      last.say({ type: 'hello', cursor: 0, deviceId: 'laptop' });
      await last.frame('welcome', 1);
      readsChanges.mockRestore();
      for (const socket of told) {
        await socket.frame('device_disconnected', MANY - 1);
        await socket.settled();
        expectTalliedWelcomes(socket);
      }
    });
  });

  it('leaves no row behind', async () => {
    for (const socket of [await join('laptop'), await join('phone')]) await socket.close();
    await eventually(async () => {
      const rows = await service.database.query('SELECT FROM presence WHERE workspace_id = $1', [
        workspace.id,
      ]);
      expect(rows).toEqual([]);
    });
  });
});

describe('a socket', () => {
  it('is closed with 4404 after an error when its workspace is deleted, even without hello', async () => {
    const [laptop, silent] = [await join('laptop'), await open()];
    await alice.delete(workspace.path).expect(200);
    for (const socket of [laptop, silent]) {
      expect(await socket.closed()).toBe(4404);
      expect(socket.of('error')).toMatchObject([{ code: 'workspace_not_found' }]);
    }
  });

  it('is closed when the token that opened it is revoked, but not for another token', async () => {
    const [revoked, kept] = [await mint(['documents:read']), await mint(['documents:read'])];
    const lost = await TestSocket.open(service.url, workspace.id, revoked.token);
    const stays = await TestSocket.open(service.url, workspace.id, kept.token);
    sockets.push(stays);
    await alice.delete(`/api/v1/auth/tokens/${revoked.id}`).expect(200);
    expect(await lost.closed()).toBe(4401);
    await stays.settled();
  });

  it('is closed when its token expires: a JWT or a personal access token', async () => {
    const expiresAt = new Date(service.clock.now().getTime() + 5 * MINUTE).toISOString();
    const { token } = await mint(['documents:read'], { expiresAt });
    const byPat = await TestSocket.open(service.url, workspace.id, token);
    const eve = await service.user('eve');
    const byJwt = await TestSocket.join(await eve.workspace(), 'laptop');
    service.clock.advance(5 * MINUTE);
    await service.app.get(TokenWatch, { strict: false }).closeLapsed();
    expect(await byPat.closed()).toBe(4401);
    await byJwt.settled();
    service.clock.advance(10 * MINUTE);
    await service.app.get(TokenWatch, { strict: false }).closeLapsed();
    expect(await byJwt.closed()).toBe(4401);
    service.clock.advance(-15 * MINUTE);
  });

  it('is closed after 60 seconds of silence, unless its peer answers pings', async () => {
    const heartbeat = service.app.get(Heartbeat, { strict: false });
    const answering = await join('laptop');
    const silent = await silentPeer();
    const pinged = once(answering.raw, 'ping');
    for (let seconds = 0; seconds < 60; seconds += 5) {
      service.clock.advance(5_000);
      await heartbeat.beat();
      if (seconds === 30) await pinged;
      await answering.settled();
    }
    await silent.closed;
    await answering.settled();
  });

  it('is not closed after the process itself was stopped for a while', async () => {
    const socket = await join('laptop');
    await service.app.get(Heartbeat, { strict: false }).beat();
    service.clock.advance(10 * MINUTE);
    await service.app.get(Heartbeat, { strict: false }).beat();
    await socket.settled();
  });
});

describe('a heartbeat', () => {
  it('runs no query for rooms without unknown devices', async () => {
    const rooms = [workspace, await alice.workspace()];
    for (const room of rooms) await join('laptop', room);
    const run = jest.spyOn(service.app.get(Database), 'run');
    await service.app.get(Heartbeat, { strict: false }).beat();
    const asked = run.mock.calls.map(([{ name }, values]) => `${name} ${JSON.stringify(values)}`);
    run.mockRestore();
    expect(asked.filter((text) => text.startsWith('realtime.renew_lease'))).not.toEqual([]);
    expect(asked.filter((text) => rooms.some(({ id }) => text.includes(id)))).toEqual([]);
  });
});

describe('a slow consumer', () => {
  it('is disconnected once 1 MiB is queued for it, and its device is announced as gone', async () => {
    const peer = await silentPeer({ hello: 'frozen' });
    await eventually(() => expect(peer.received()).toContain('"welcome"'));
    peer.socket.pause();
    const phone = await join('phone');
    const paths = Array.from({ length: 700 }, (_, index) => `${index}-`.padEnd(4_000, 'x'));
    for (let round = 0; round < 2; round++) {
      await inTurns(paths, (path) => putQuickly(path, `${round}`));
      const { cursor } = await workspace.status();
      await workspace.push(cursor, paths, 'laptop').expect(200);
    }
    const { cursor } = await workspace.status();
    await eventually(() => expect(phone.of('changes').at(-1)?.['cursor']).toBe(cursor));
    expect(await phone.frame('device_disconnected')).toMatchObject({ deviceId: 'frozen' });
    await eventually(() => expect(service.app.get(Connections, { strict: false }).size).toBe(1));
    peer.socket.resume();
    await peer.closed;
  });
});

describe('shutdown', () => {
  it('closes every socket with 1001 and accepts none', async () => {
    const other = await startService();
    const eve = await other.user('eve');
    const room = await eve.workspace();
    const joined = await TestSocket.join(room, 'laptop');
    const silent = await TestSocket.open(other.url, room.id, eve.token);
    await other.close();
    expect([joined.closeCode, silent.closeCode]).toEqual([1001, 1001]);
  });

  it('refuses an upgrade that was being checked when it began', async () => {
    const other = await startService();
    const eve = await other.user('eve');
    const room = await eve.workspace();
    const assets = other.app.get(AssetFeed, { strict: false });
    const revision = assets.revision.bind(assets);
    const spy = jest.spyOn(assets, 'revision').mockImplementationOnce(async (id) => {
      await other.app.get(SocketShutdown, { strict: false }).onModuleDestroy();
      return revision(id); // the last query before the 101
    });
    try {
      await expect(TestSocket.open(other.url, room.id, eve.token)).rejects.toThrow('503');
    } finally {
      spy.mockRestore();
      await other.close();
    }
  });
});

/** Counts the messages sent per turn of the event loop, until the result is called for the maximum. */
function mostSentInATurn(): () => number {
  let isOver = false;
  let most = 0;
  const send = jest.spyOn(Connection.prototype, 'sendFrame');
  const look = (): void => {
    most = Math.max(most, send.mock.calls.length);
    send.mockClear();
    if (!isOver) setImmediate(look);
  };
  look();
  return () => {
    isOver = true;
    send.mockRestore();
    return most;
  };
}

/** Each welcome has the same count as a listener that has counted since the first one. */
function expectTalliedWelcomes({ frames }: TestSocket): void {
  let count: number | undefined;
  for (const { type, deviceCount } of frames) {
    if (type === 'welcome') expect(deviceCount).toBe((count ??= deviceCount as number));
    if (type === 'device_connected') count!++;
    if (type === 'device_disconnected') count!--;
  }
}

/** Requests an upgrade; `answered` is the status of the response. */
function knockAt({ id, user }: TestWorkspace): { socket: WebSocket; answered: Promise<number> } {
  const socket = new WebSocket(socketUrl(service.url, id, user.token));
  socket.on('error', () => undefined);
  const answered = new Promise<number>((resolve) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode ?? 0));
  });
  return { socket, answered };
}

function request(path: string, header = '', protocol = 'websocket'): string {
  return [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    `Upgrade: ${protocol}`,
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(header ? [header] : []),
    '\r\n',
  ].join('\r\n');
}

async function connected(url = service.url): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function upgrade(
  path: string,
  header = '',
  protocol = 'websocket',
  url = service.url,
): Promise<{ status: number; head: string; body: Record<string, unknown> }> {
  const socket = await connected(url);
  socket.write(request(path, header, protocol));
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body: JSON.parse(body) as Record<string, unknown> };
}

/** A raw client that upgrades, may say hello, and answers no ping. */
async function silentPeer({ hello }: { hello?: string } = {}): Promise<{
  socket: Socket;
  received: () => string;
  closed: Promise<unknown>;
}> {
  const socket = await connected();
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  const closed = once(socket, 'close');
  socket.write(request(`/api/v1/workspaces/${workspace.id}/ws?token=${alice.token}`));
  await eventually(() => expect(received).toContain('101 Switching Protocols'));
  if (hello) {
    const text = Buffer.from(JSON.stringify({ type: 'hello', cursor: 0, deviceId: hello }));
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text]));
  }
  return { socket, received: () => received, closed };
}

/** Reuses connections, since there are many requests. */
async function putQuickly(path: string, content: string): Promise<void> {
  const headers = {
    authorization: `Bearer ${alice.token}`,
    'content-type': 'application/octet-stream',
    'x-content-hash': sha256(content),
    'x-device-id': 'laptop',
  };
  const { status } = await fetch(service.url + workspace.file(path), {
    method: 'PUT',
    headers,
    body: content,
  });
  expect([200, 201]).toContain(status);
}

async function inTurns<T>(items: readonly T[], work: (item: T) => PromiseLike<unknown>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const item of waiting) await work(item);
    }),
  );
}
