import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import supertest from 'supertest';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { Log } from '../../../src/platform/log.js';
import { DatabaseLink } from '../../kit/database-link.js';
import { eventually } from '../../kit/eventually.js';
import { footprint } from '../../kit/footprint.js';
import {
  BASE_URL,
  createDatabase,
  DEV_LOGIN_KEY,
  sha256,
  startService,
  type TestDatabase,
  type TestService,
  type TestUser,
} from '../../kit/index.js';
import {
  exchange,
  headOf,
  openSocket,
  type RawAnswer,
  received,
  sendRaw,
  unfinishedUpload,
} from '../../kit/raw-http.js';
import { itDeep } from '../../kit/rounds.js';

const MIB = 1024 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NOWHERE = '/api/v1/workspaces/00000000-0000-7000-8000-000000000000';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const UPGRADE = {
  ...{ Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' },
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** An error has a status, a JSON body with the one key `error`, and a request id. */
function expectFlat(
  answer: RawAnswer | supertest.Response,
  status: number,
  error: unknown = expect.any(String),
): void {
  const body: unknown = typeof answer.body === 'string' ? JSON.parse(answer.body) : answer.body;
  expect({ status: answer.status, body }).toEqual({ status, body: { error } });
  const headers = answer.headers as Record<string, string>;
  expect(headers['content-type']).toMatch(/^application\/json/);
  expect(headers['x-request-id']).toMatch(UUID);
}

function post(user: TestUser, path: string, body: string | Buffer): supertest.Test {
  return user
    .post(path)
    .set('Content-Type', 'application/json')
    .send(body as string);
}

describe('an address that is not served', () => {
  it.each([
    ['GET', '/nope'],
    ['GET', '/api'],
    ['GET', '/api/v1'],
    ['GET', '/api/v1/'],
    ['GET', '/api/v1/nope'],
    ['POST', '/api/v1/chat'],
    ['GET', '/api/v2/workspaces'],
    ['GET', '/API/v1/workspaces'],
    ['GET', '/api/v1/workspaces/'],
    ['GET', '//api/v1/workspaces'],
    ['GET', '/api/v1//workspaces'],
    ['GET', '/api/v1/workspaces;x=1'],
    ['GET', '/api/v1/../v1/workspaces'],
    ['GET', `${NOWHERE}/files/a/b`],
    ['GET', '/health/x'],
    ['PUT', '/health'],
    ['PATCH', '/api/v1/workspaces'],
    ['DELETE', '/api/v1/workspaces'],
    ['POST', NOWHERE],
    ['GET', `${NOWHERE}/sync/push`],
    ['POST', `${NOWHERE}/files/a`],
    ['GET', '/api/v1/auth/dev-login'],
    ['OPTIONS', '/nope'],
    ['TRACE', '/api/v1/workspaces'],
    ['PROPFIND', '/api/v1/workspaces'],
  ])('is a flat 404, also without a bearer: %s %s', async (method, path) => {
    expectFlat(await sendRaw(service.url, { method, path }), 404, 'not found');
  });

  it('is 404 with a bearer as well', async () => {
    const alice = await service.newcomer('alice-nowhere');
    expectFlat(await alice.get('/api/v1/nope'), 404, 'not found');
  });

  it.each(['/%', '/%zz', '/api/v1/workspaces/%E0%A4%A', '/api/auth/%ff', '/health/%'])(
    'is a flat 400 when its percent-encoding is broken: %s',
    async (path) => expectFlat(await sendRaw(service.url, { method: 'GET', path }), 400),
  );

  it('is a flat error when it is too long', async () => {
    const answer = await sendRaw(service.url, { method: 'GET', path: `/${'a'.repeat(20_000)}` });
    expect([414, 431]).toContain(answer.status);
    expectFlat(answer, answer.status);
    expectFlat(await sendRaw(service.url, { method: 'GET', path: `/${'a'.repeat(12_000)}` }), 404);
  });
});

describe('malformed HTTP', () => {
  const head = (lines: string): string => `GET /health HTTP/1.1\r\nConnection: close\r\n${lines}\r\n\r\n`;

  it.each([
    ['noise', 'noise\r\n\r\n'],
    ['binary noise', Buffer.from([0, 1, 2, 0xff, 0xfe, 13, 10, 13, 10])],
    ['a TLS handshake', Buffer.from('16030100a5010000a10303', 'hex')],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a header without a colon', head('Host: x\r\nnonsense')],
    ['a header name with a space', head('Host: x\r\nBad Name: x')],
    ['a header value with NUL', head('Host: x\r\nX-A: a\0b')],
    ['a folded header', head('Host: x\r\nX-A: a\r\n b')],
    ['a bare line feed in a header', head('Host: x\r\nX-A: a\nX-B: b')],
    ['two lengths', 'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['chunked and more', 'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n'],
    ['no Host', head('X-A: a')],
  ])('is a flat 400 with a request id: %s', async (_, bytes) => {
    expectFlat(await exchange(service.url, bytes), 400);
  });

  it('is a flat 431 when the headers are too large', async () => {
    const one = await sendRaw(service.url, {
      method: 'GET',
      path: '/health',
      headers: { 'X-A': 'a'.repeat(20_000) },
    });
    expectFlat(one, 431, 'the request headers are too large');
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`X-Header-${n}`, 'value']));
    expectFlat(await sendRaw(service.url, { method: 'GET', path: '/health', headers: many }), 431);
  });

  it('is a flat 417 for an expectation that is not offered', async () => {
    const headers = { Expect: 'a-miracle' };
    expectFlat(
      await sendRaw(service.url, { method: 'POST', path: '/api/v1/workspaces', headers, body: '{}' }),
      417,
    );
  });

  it('does not stop the service', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => exchange(service.url, Buffer.alloc(1000, 128 + n))),
    );
    await supertest(service.url).get('/health').expect(200, { ok: true });
  });
});

describe('a JSON body', () => {
  const PATH = '/api/v1/workspaces';
  let alice: TestUser;
  beforeAll(async () => {
    alice = await service.user('alice-json');
  });

  it.each([
    ['broken', '{"name":'],
    ['with a trailing comma', '{"name":"x",}'],
    ['with single quotes', `{'name':'x'}`],
    ['with a comment', '{"name":"x"/**/}'],
    ['with a raw NUL', '{"name":"\0"}'],
    ['two objects', '{"name":"x"}{"name":"y"}'],
    ['a list', '[{"name":"x"}]'],
    ['a string', '"name"'],
    ['a number', '7'],
    ['null', 'null'],
    ['true', 'true'],
    ['NaN', '{"name":NaN}'],
    ['a form', 'name=x'],
    ['XML', '<name>x</name>'],
    ['only spaces', '   '],
  ])('that is %s is a flat 400', async (_, body) => {
    expectFlat(await post(alice, PATH, body), 400);
  });

  it('counts as an empty object when it is empty: validation says what is missing', async () => {
    expectFlat(await alice.post(PATH), 400, expect.stringContaining('name'));
    expectFlat(await post(alice, PATH, '{}'), 400, expect.stringContaining('name'));
  });

  const nested = (depth: number): string =>
    `{"name":"deep","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

  it('may be 32 levels deep, and is 400 at 33', async () => {
    expect((await post(alice, PATH, nested(32))).status).toBe(201);
    expectFlat(await post(alice, PATH, nested(33)), 400, 'the request body is nested too deeply');
    const objects = `{"name":"x","a":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`;
    expectFlat(await post(alice, PATH, objects), 400, 'the request body is nested too deeply');
  });

  itDeep('is 400 with 500,000 levels, and does not stop the service', async () => {
    expectFlat(await post(alice, PATH, nested(500_000)), 400, 'the request body is nested too deeply');
    expectFlat(await post(alice, PATH, '['.repeat(MIB)), 400);
    const workspace = await alice.workspace();
    expectFlat(await post(alice, `${workspace.path}/sync/push`, nested(4_000_000)), 400);
    await supertest(service.url).get('/health').expect(200);
  });

  it.each([
    '{"name":"x","__proto__":{"isAdmin":true}}',
    '{"name":"x","\\u005f_proto__":{"isAdmin":true}}',
    '{"name":"x","constructor":{"prototype":{"isAdmin":true}}}',
    '{"name":"x","a":{"b":[{"__proto__":{"isAdmin":true}}]}}',
    '{"__proto__":{"name":"x"}}',
  ])('that sets a prototype is 400: %s', async (body) => {
    expectFlat(await post(alice, PATH, body), 400);
    expect(({} as Record<string, unknown>).isAdmin).toBeUndefined();
  });

  it('is 400 with half a surrogate pair in a string', async () => {
    expectFlat(await post(alice, PATH, '{"name":"a\\ud800"}'), 400);
    expectFlat(await post(alice, PATH, '{"name":"x","a":[{"b":"\\udc00a"}]}'), 400);
    expect((await post(alice, PATH, '{"name":"\\ud83d\\uddd2"}')).body.name).toBe('🗒');
    const devLogin = post(alice, '/api/v1/auth/dev-login', '{"email":"a\\ud800@example.org","name":"x"}');
    expectFlat(await devLogin.set('X-Dev-Login-Key', DEV_LOGIN_KEY), 400);
  });

  it('is 400 with NUL in a string on the routes of workspaces and sync, never 500', async () => {
    const workspace = await alice.workspace();
    const nul = 'a\u0000b';
    const change = { encryptedPath: nul, action: 'delete' };
    const bodies: [string, object][] = [
      [PATH, { name: nul }],
      [
        `${workspace.path}/setup-encryption`,
        { encryptionSalt: nul, verificationHash: nul, verificationSalt: nul },
      ],
      [`${workspace.path}/verify-password`, { verificationHash: nul }],
      [`${workspace.path}/sync/push`, { deviceId: 'laptop', baseCursor: 0, changes: [change] }],
      [
        `${workspace.path}/sync/push`,
        { deviceId: nul, baseCursor: 0, changes: [{ ...change, encryptedPath: 'a' }] },
      ],
      [`${workspace.path}/sync/pull`, { deviceId: nul, cursor: 0 }],
    ];
    for (const [path, body] of bodies) expectFlat(await alice.post(path).send(body), 400);
    expectFlat(await alice.get(`${workspace.path}/sync/snapshot?pageCursor=%00`), 400);
    expectFlat(await alice.get(`${workspace.path}/files/%00`), 400);
    expectFlat(await alice.get('/api/v1/workspaces/%00'), 404);
  });

  it('may have 1 MiB, and is 413 beyond, with and without Content-Length', async () => {
    expect((await post(alice, PATH, '{"name":"x"}'.padEnd(MIB))).status).toBe(201);
    expectFlat(await post(alice, PATH, '{"name":"x"}'.padEnd(MIB + 1)), 413);

    const headers = { Host: 'x', Authorization: `Bearer ${alice.token}`, 'Transfer-Encoding': 'chunked' };
    const socket = openSocket(service.url);
    socket.write(headOf('POST', PATH, { ...headers, Connection: 'close' }));
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let sent = 0; sent <= MIB; sent += 0x10000) socket.write(chunk);
    const answer = (await received(socket)).toString();
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('is a flat 415 with a Content-Encoding', async () => {
    expectFlat(await post(alice, PATH, '{"name":"x"}').set('Content-Encoding', 'gzip'), 415);
  });

  it('is read as JSON under any Content-Type, even a malformed one', async () => {
    const headers = { Authorization: `Bearer ${alice.token}` };
    const body = '{"name":"x"}';
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'nonsense',
      ';;;',
    ]) {
      const request = { method: 'POST', path: PATH, headers: { ...headers, 'Content-Type': type }, body };
      expect((await sendRaw(service.url, request)).status).toBe(201);
    }
    const nonsense = { method: 'POST', path: PATH, headers: { 'Content-Type': 'nonsense' }, body };
    expectFlat(await sendRaw(service.url, nonsense), 401);
  });
});

describe('the order of checks', () => {
  const BROKEN = '{"name":';

  it('is route, bearer, scope, subscription, ownership, body', async () => {
    const nobody = (await service.newcomer('order-nobody')).at(service.url, 'none');
    const free = await service.newcomer('order-free');
    const minted = await free
      .post('/api/v1/auth/tokens')
      .send({ name: 'r', scopes: ['documents:read'] })
      .expect(201);
    const reader = free.at(service.url, String(minted.body.token));
    const paying = await service.user('order-paying');
    const workspace = await paying.workspace();

    expectFlat(await post(nobody, `${NOWHERE}/sync/nope`, BROKEN), 404, 'not found');
    expectFlat(await post(nobody, `${NOWHERE}/sync/push`, BROKEN), 401);
    expectFlat(await post(reader, `${NOWHERE}/sync/push`, BROKEN), 403);
    expectFlat(await post(free, `${NOWHERE}/sync/push`, BROKEN), 402);
    expectFlat(await post(paying, `${NOWHERE}/sync/push`, BROKEN), 404, 'workspace not found');
    expectFlat(await post(paying, `${workspace.path}/sync/push`, BROKEN), 400);
  });

  it('is bearer, ownership, path, headers, file', async () => {
    const alice = await service.user('order-alice');
    const workspace = await alice.workspace();
    const absent = workspace.file('YWJzZW50');
    expectFlat(await alice.at(service.url, 'none').delete(workspace.file('=')), 401);
    expectFlat(await alice.delete(`${NOWHERE}/files/=`), 404, 'workspace not found');
    expectFlat(await alice.delete(workspace.file('=')), 400);
    expectFlat(await alice.delete(absent), 400, expect.stringContaining('X-Device-Id'));
    expectFlat(await alice.delete(absent).set('X-Device-Id', 'laptop'), 404, 'file not found');
  });

  it('has validation before conflict, and the body before the precondition', async () => {
    const alice = await service.user('order-conflict');
    const workspace = await alice.workspace();
    await workspace.put('YQ', 'a').expect(201);
    await alice.post(`${workspace.path}/sync/pull`).send({ deviceId: '', cursor: 9 }).expect(400);
    await alice.post(`${workspace.path}/sync/pull`).send({ deviceId: 'laptop', cursor: 9 }).expect(409);
    const upload = workspace.put('YQ', 'b').set('If-Match', `"${sha256('x')}"`);
    await upload.set('X-Content-Hash', sha256('c')).expect(400);
  });
});

describe('X-Request-Id', () => {
  it('is on every answer, new each time, and never chosen by the client', async () => {
    const alice = await service.user('alice-ids');
    const workspace = await alice.workspace();
    await workspace.put('YQ', 'a').expect(201);
    const own = 'x"}\\u000a{"level":"error"';
    const answers = [
      await supertest(service.url).get('/health').set('X-Request-Id', own).expect(200),
      await alice.get('/api/v1/workspaces').set('X-Request-Id', own).expect(200),
      await workspace.put('Yg', 'b').expect(201),
      await workspace.get('YQ').expect(200),
      await workspace.get('YQ').set('Range', 'bytes=0-0').expect(206),
      await workspace.get('YQ').set('If-None-Match', '*').expect(304),
      await alice.request('head', workspace.file('YQ')).expect(200),
      await alice.get('/nope').expect(404),
      await alice.request('head', '/nope').expect(404),
      await alice.at(service.url, 'none').get('/api/v1/workspaces').expect(401),
      await alice.post('/api/v1/workspaces').expect(400),
      await supertest(service.url).get('/api/auth/jwks').expect(200),
      await supertest(service.url).get('/api/auth/token').expect(401),
      await supertest(service.url).get('/api/auth/nope').expect(404),
      await supertest(service.url).post('/api/v1/auth/dev-login').expect(403),
    ];
    const ids = answers.map(({ headers }) => headers['x-request-id'] as string);
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(answers.length);
  });

  const NO_HTTP = 'GET /a-note HTTP/1.1\r\nBad Header\r\n\r\n';
  const UNREADABLE = { method: 'GET', url: '[unreadable]' };
  const raw = (path: string, headers = {}): Promise<RawAnswer> =>
    sendRaw(service.url, { method: 'GET', path, headers });

  it.each<[string, object, () => Promise<RawAnswer>]>([
    [
      'is served',
      { status: 200, req: { method: 'GET', url: '/api/auth/jwks' } },
      () => raw('/api/auth/jwks'),
    ],
    ['matches no route', { status: 404, req: { method: 'GET', url: '/nope' } }, () => raw('/nope')],
    ['has a broken path', { status: 400, req: UNREADABLE }, () => raw('/%E0%A4%A/a-note')],
    [
      'has an unknown expectation',
      { status: 417, req: { method: 'GET', url: '/health' } },
      () => raw('/health', { Expect: 'a-miracle' }),
    ],
    [
      'has no Host',
      { status: 400 },
      () => exchange(service.url, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'),
    ],
    ['has headers that are too large', { status: 431 }, () => raw('/a-note', { 'X-A': 'a'.repeat(20_000) })],
    ['is not HTTP', { status: 400 }, () => exchange(service.url, NO_HTTP)],
  ])('is in the only log line of a request that %s', async (_, expected, request) => {
    const { status, headers } = await request();
    const lines = await eventually(() => {
      const found = logLines(service).filter(({ requestId }) => requestId === headers['x-request-id']);
      expect(found).not.toEqual([]);
      return found;
    });
    expect(lines).toMatchObject([{ level: 'info', message: 'request', ip: '127.0.0.1', ...expected }]);
    expect(lines).toMatchObject([{ status }]);
    expect(lines[0]).not.toHaveProperty('brokenOff');
    expect(JSON.stringify(lines)).not.toContain('a-note'); // it may be plaintext
  });
});

describe('a request whose client disconnects', () => {
  it('has one log line, without a status when no answer was sent', async () => {
    const workspace = await (await service.user('leaver')).workspace();
    const lines = (): LogLine[] =>
      logLines(service).filter(
        ({ message, req }) => message === 'request' && req?.url === workspace.file('bGVmdA'),
      );
    const socket = unfinishedUpload(service.url, workspace, 'bGVmdA');
    await eventually(() => expect(service.app.get(InFlightRequests).count).toBe(1));
    socket.destroy();
    await eventually(() =>
      expect(lines()).toMatchObject([{ level: 'info', ip: '127.0.0.1', brokenOff: true }]),
    );
    expect(lines()[0]).not.toHaveProperty('status');
  });

  it('is logged with the status that was sent, when the answer had begun', async () => {
    const workspace = await (await service.user('late-leaver')).workspace();
    await workspace.put('bGFyZ2U', Buffer.alloc(8 * 1024 * 1024, 1)).expect(201);
    const socket = openSocket(service.url);
    const Authorization = `Bearer ${workspace.user.token}`;
    socket.write(headOf('GET', workspace.file('bGFyZ2U'), { Host: 'x', Authorization }));
    await once(socket, 'readable');
    socket.destroy();
    const lines = await eventually(() => {
      const found = logLines(service).filter(
        ({ req }) => req?.method === 'GET' && req.url === workspace.file('bGFyZ2U'),
      );
      expect(found).not.toEqual([]);
      return found;
    });
    expect(lines).toMatchObject([{ level: 'info', message: 'request', status: 200, brokenOff: true }]);
  });
});

describe('unread answers', () => {
  /** Pipelines 101 requests without reading answers; Node.js stops after the download and two pages. */
  async function hoard(): Promise<Socket> {
    const inFlight = service.app.get(InFlightRequests);
    const workspace = await (await service.user('hoarder')).workspace();
    await workspace.put('bGFyZ2U', randomBytes(16 * MIB)).expect(201);
    const before = inFlight.count;
    const socket = openSocket(service.url)
      .on('error', () => undefined)
      .pause();
    const Authorization = `Bearer ${workspace.user.token}`;
    const download = headOf('GET', workspace.file('bGFyZ2U'), { Host: 'x', Authorization });
    const page = headOf('GET', '/openapi.json', { Host: 'x' });
    socket.write(Buffer.concat([download, ...Array<Buffer>(100).fill(page)]));
    await eventually(() => expect(inFlight.count - before).toBe(3));
    await eventually(() => expect(inFlight.underWay).toBe(0)); // a waiting download does not count
    return socket;
  }

  it('all end with their connection, with one log line each', async () => {
    const lines = (): LogLine[] => logLines(service).filter(({ req }) => req?.url === '/openapi.json');
    const before = lines().length;
    const socket = await hoard();
    const begun = service.app.get(InFlightRequests).count;
    socket.destroy();
    await eventually(() => expect(service.app.get(InFlightRequests).count).toBe(0));
    expect(lines().length - before).toBe(begun - 1); // the download has its own
  });

  it('are cut off above a limit, but a download that is read slowly is not', async () => {
    const inFlight = service.app.get(InFlightRequests);
    const workspace = await (await service.user('slow-reader')).workspace();
    const path = workspace.file('c2xvdw');
    await workspace.put('c2xvdw', randomBytes(16 * MIB)).expect(201);
    const slow = openSocket(service.url);
    const Authorization = `Bearer ${workspace.user.token}`;
    slow.write(headOf('GET', path, { Host: 'x', Authorization, Connection: 'close' }));
    await once(slow, 'readable');
    const hoarder = await hoard();
    expect(inFlight.cutUnread(1000 * MIB)).toBe(0);
    expect(inFlight.cutUnread(MIB / 8)).toBe(1);
    await eventually(() => expect(inFlight.count).toBe(1));
    expect((await received(slow)).length).toBeGreaterThan(16 * MIB);
    hoarder.destroy();
    await eventually(() => expect(inFlight.count).toBe(0));
    const line = logLines(service).findLast(({ req }) => req?.method === 'GET' && req.url === path);
    expect(line).toMatchObject({ status: 200 });
    expect(line).not.toHaveProperty('brokenOff');
  });
});

interface LogLine {
  level: string;
  message: string;
  requestId?: string;
  req?: { method: string; url: string };
  err?: { message: string; stack: string; code?: string };
}

function logLines(at: TestService): LogLine[] {
  return at
    .logged()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
}

describe('a fault of the service', () => {
  let broken: TestService;
  beforeAll(async () => {
    broken = await startService();
  });
  afterAll(() => broken.close());

  async function without(table: string, work: () => Promise<void>): Promise<void> {
    await broken.database.query(`ALTER TABLE ${table} RENAME TO ${table}_away`);
    try {
      await work();
    } finally {
      await broken.database.query(`ALTER TABLE ${table}_away RENAME TO ${table}`);
    }
  }

  function expectFault(answer: supertest.Response, table: string): void {
    expectFlat(answer, 500, 'Internal server error');
    const line = logLines(broken).find(
      ({ level, requestId }) => level === 'error' && requestId === answer.headers['x-request-id'],
    );
    expect(line?.err?.message).toContain(`relation "${table}" does not exist`);
    expect(line?.err?.stack).toMatch(/\n\s+at /);
  }

  it('is a 500 that reveals nothing; the log has its cause under the request id', async () => {
    const alice = await broken.user('alice');
    const workspace = await alice.workspace();
    await workspace.put('YQ', 'a').expect(201);
    await without('changes', async () => {
      expectFault(await workspace.pull(0), 'changes');
      expectFault(await workspace.put('Yg', 'b'), 'changes');
      expectFault(await workspace.push(1, ['YQ']), 'changes');
      expectFault(await workspace.delete('YQ'), 'changes');
    });
    await without('workspaces', async () => {
      expectFault(await alice.get('/api/v1/workspaces'), 'workspaces');
      expectFault(await alice.post('/api/v1/workspaces').send({ name: 'x' }), 'workspaces');
      expectFault(await workspace.pull(0), 'workspaces');
    });
    await without('users', async () => expectFault(await alice.get('/api/v1/auth/me'), 'users'));

    expect(await workspace.status()).toEqual({ cursor: 1, fileCount: 1 }); // nothing was half-written
    expect((await workspace.get('YQ').expect(200)).body).toEqual(Buffer.from('a'));
  });

  it('is a 500 under /api/auth too, never a 401, which would sign the client out', async () => {
    const body = { email: 'fault@example.org', name: 'Fault', password: 'a long enough password' };
    const signUp = (): supertest.Test => supertest(broken.url).post('/api/auth/sign-up/email').send(body);
    const { headers } = await signUp().expect(200);
    const bearer = `Bearer ${headers['set-auth-token']}`;
    await printedDuring(async () => {
      await without('users', async () => {
        expectFault(await signUp(), 'users');
        expectFault(await supertest(broken.url).post('/api/auth/sign-in/email').send(body), 'users');
      });
      await without('auth_sessions', async () => {
        for (const action of ['token', 'get-session', 'one-time-token/generate']) {
          const request = supertest(broken.url).get(`/api/auth/${action}`);
          expectFault(await request.set('Authorization', bearer), 'auth_sessions');
        }
      });
    });
    await supertest(broken.url).get('/api/auth/token').set('Authorization', bearer).expect(200);
  });
});

/** What work prints to the console instead of the service's log. */
async function printedDuring(work: () => Promise<void>): Promise<string> {
  const { console } = globalThis;
  const lines: string[] = [];
  const print = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
  const methods = ['log', 'info', 'warn', 'error', 'debug', 'trace'];
  const original = Object.fromEntries(
    methods.map((method) => [method, Reflect.get(console, method) as unknown]),
  );
  for (const method of methods) Reflect.set(console, method, print);
  try {
    await work();
  } finally {
    Object.assign(console, original);
  }
  return lines.join('\n');
}

describe('while PostgreSQL is away', () => {
  let database: TestDatabase;
  let link: DatabaseLink;
  let linked: TestService;
  beforeAll(async () => {
    database = await createDatabase();
    link = await DatabaseLink.to(database);
    linked = await startService({ env: { DATABASE_URL: link.url } });
  });
  afterAll(async () => {
    await linked.close();
    await link.cut();
    await database.drop();
  });

  function expectUnavailable(answer: supertest.Response): void {
    expectFlat(answer, 503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }

  it('routes that need it are 503, nothing is half-written, and the service recovers', async () => {
    const alice = await linked.user('alice');
    const workspace = await alice.workspace();
    await workspace.put('YQ', 'a').expect(201);
    const large = Buffer.alloc(100_000, 'l');

    await link.cut();
    const password = 'a long enough password';
    const signIn = { email: alice.email, password };
    expectUnavailable(await alice.get('/api/v1/workspaces'));
    expectUnavailable(await alice.get('/api/v1/auth/me'));
    expectUnavailable(await workspace.put('Yg', 'b'));
    expectUnavailable(await workspace.put('Yg', large));
    expectUnavailable(await workspace.delete('YQ'));
    expectUnavailable(await alice.get(workspace.file('YQ')));
    expectUnavailable(await workspace.pull(0));
    expectUnavailable(await workspace.push(1, ['YQ']));
    expectUnavailable(
      await supertest(linked.url)
        .post('/api/v1/auth/dev-login')
        .set('X-Dev-Login-Key', DEV_LOGIN_KEY)
        .send({ email: 'a@example.org', name: 'a' }),
    );
    expectUnavailable(await supertest(linked.url).post('/api/auth/sign-in/email').send(signIn));
    expectUnavailable(
      await supertest(linked.url).get('/api/auth/token').set('Authorization', 'Bearer unknown'),
    );
    expectUnavailable(
      await supertest(linked.url).get('/api/auth/get-session').set('Authorization', 'Bearer unknown'),
    );
    await supertest(linked.url).get('/health').expect(200, { ok: true }); // liveness needs no database
    expectFlat(await alice.get('/nope'), 404);

    await link.mend();
    expect(await workspace.status()).toEqual({ cursor: 1, fileCount: 1 });
    await workspace.put('Yg', large).expect(201);
    expect((await workspace.get('YQ').expect(200)).body).toEqual(Buffer.from('a'));
  });

  it('a write whose connection is terminated is 503 and changes nothing; a retry succeeds', async () => {
    const workspace = await (await service.user('alice-terminated')).workspace();
    const before = await footprint(service, workspace.id);
    const holder = new pg.Client(service.database.url);
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM workspaces WHERE id = $1 FOR UPDATE', [workspace.id]);
      const [answer] = await Promise.all([workspace.put('YQ', 'a'), terminateWhoWaits()]);
      expectUnavailable(answer);
    } finally {
      await holder.end();
    }
    expect(await footprint(service, workspace.id)).toEqual(before);
    await workspace.put('YQ', 'a').expect(201);
  });

  /** Ends the one connection that waits for the row, as an administrator or a failover would. */
  async function terminateWhoWaits(): Promise<void> {
    await eventually(async () => {
      const ended = await service.database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`,
      );
      expect(ended).toHaveLength(1);
    });
  }
});

describe('secrets', () => {
  /** A unique word that must not appear anywhere. */
  const canary = (name: string): string => `canary-${name}-${randomUUID().replaceAll('-', '')}`;

  it('appear in no log line, whatever the route and the failure', async () => {
    const devLoginKey = canary('dev-login-key');
    const authSecret = canary('auth-secret');
    const own = await startService({ env: { DEV_LOGIN_KEY: devLoginKey, AUTH_SECRET: authSecret } });
    const secrets = [devLoginKey, authSecret];
    const secret = (name: string): string => {
      secrets.push(canary(name));
      return secrets.at(-1)!;
    };
    const http = supertest(own.url);
    try {
      const printed = await printedDuring(async () => {
        const devLogin = http.post('/api/v1/auth/dev-login').set('X-Dev-Login-Key', devLoginKey);
        const { body } = await devLogin.send({ email: 'canary@example.org', name: 'Canary' }).expect(200);
        secrets.push(body.token);
        await http
          .post('/api/v1/auth/dev-login')
          .set('X-Dev-Login-Key', secret('wrong-key'))
          .send({})
          .expect(403);
        const bearer = { Authorization: `Bearer ${body.token}` };

        const password = secret('password');
        const account = { email: 'account@example.org', name: 'Account' };
        const signedUp = await http
          .post('/api/auth/sign-up/email')
          .send({ ...account, password })
          .expect(200);
        secrets.push(signedUp.body.token, String(signedUp.headers['set-auth-token']));
        const cookie = (signedUp.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
        const browser = { Cookie: cookie, Origin: BASE_URL };
        await http
          .post('/api/auth/sign-in/email')
          .send({ ...account, password: secret('wrong-password') })
          .expect(401);
        await http
          .post('/api/auth/sign-in/email')
          .send({ email: secret('email'), password: secret('password') });
        await http.post('/api/auth/sign-in/email').send(`{"password":"${secret('broken')}"`);
        secrets.push((await http.get('/api/auth/token').set(browser).expect(200)).body.token);
        const oneTime = (await http.get('/api/auth/one-time-token/generate').set(browser).expect(200)).body
          .token;
        secrets.push(oneTime);
        await http.post('/api/auth/one-time-token/verify').send({ token: oneTime }).expect(200);
        await http
          .post('/api/auth/one-time-token/verify')
          .send({ token: secret('unknown-ott') })
          .expect(400);
        await http
          .post('/api/auth/sign-out')
          .set({ ...browser, Origin: 'https://evil.example' })
          .expect(403);

        await http.post('/api/v1/subscription/trial').set(bearer).expect(200);
        const workspace = (await http.post('/api/v1/workspaces').set(bearer).send({ name: 'x' }).expect(201))
          .body.id;
        const at = `/api/v1/workspaces/${workspace}`;
        await http
          .post(`${at}/verify-password`)
          .set(bearer)
          .send({ verificationHash: secret('hash') })
          .expect(400);

        for (const path of [
          '/health',
          '/nope',
          '/api/v1/workspaces',
          `${at}/files/=`,
          `${at}/ws`,
          '/api/auth/token',
          '/%zz',
        ]) {
          for (const name of [
            'token',
            'TOKEN',
            'access_token',
            'one-time-token',
            '%74oken',
            'to%6ben',
            'x=1&token',
          ]) {
            await sendRaw(own.url, {
              method: 'GET',
              path: `${path}?${name}=${secret('query')}`,
              headers: bearer,
            });
          }
          await http.get(path).set('Authorization', `Bearer ${secret('bearer')}`);
          await http.get(path).set('Cookie', `better-auth.session_token=${secret('cookie')}`);
          await http.get(path).set('X-Key-Session', secret('key-session'));
        }
        await exchange(own.url, `GET /?token=${secret('malformed')} HTTP/1.1\r\nBad Header\r\n\r\n`);
        await exchange(
          own.url,
          `GET /?token=${secret('too-large')} HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
        );

        for (const table of [
          'auth_accounts',
          'auth_sessions',
          'auth_verifications',
          'auth_jwks',
          'users',
          'workspaces',
        ]) {
          await own.database.query(`ALTER TABLE ${table} RENAME TO ${table}_away`);
          await http
            .post('/api/auth/sign-up/email')
            .send({ ...account, email: `${table}@example.org`, password: secret('password') });
          await http.post('/api/auth/sign-in/email').send({ ...account, password });
          await http.get('/api/auth/get-session').set(browser);
          await http.get('/api/auth/one-time-token/generate').set(browser);
          await http.post('/api/auth/one-time-token/verify').send({ token: secret('ott') });
          await http.get(`/api/v1/workspaces?token=${secret('query')}`).set(bearer);
          await own.database.query(`ALTER TABLE ${table}_away RENAME TO ${table}`);
        }
      });

      const everything = own.logged() + printed;
      expect(everything).toContain('request failed'); // faults were logged, and so were requests
      expect(everything).toContain('[redacted]');
      expect(secrets.filter((one) => everything.includes(one))).toEqual([]);
      expect(secrets.length).toBeGreaterThan(80);
    } finally {
      await own.close();
    }
  });

  it('appear in no log line when a token is in a path, a message or another parameter', async () => {
    const rest = randomBytes(32).toString('base64url');
    const { token: jwt } = await service.newcomer('alice-tokens');
    const workspace = await (await service.user('alice-tokens')).workspace();
    for (const token of [`pat_${rest}`, `ks_${rest}`, jwt]) {
      const escaped = token.replace(/[pk_.e]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
      for (const written of [token, escaped]) {
        for (const place of [`?q=${written}`, `/${written}`, `;v=x${written}`, `?next=%2Fa%3Dx%3D${written}`])
          await sendRaw(service.url, { method: 'GET', path: `/nope${place}` });
        await sendRaw(service.url, {
          method: 'GET',
          path: `${workspace.path}/ws?q=${written}`,
          headers: UPGRADE,
        });
      }
      service.app.get(Log).warn({ err: new Error(`not ${token}`), note: [token] }, `a message with ${token}`);
    }
    await eventually(() => expect(service.logged()).toContain('a message with [redacted]'));
    const { length } = logLines(service).filter(({ message }) => message === 'upgrade');
    expect(length).toBe(6);
    expect(service.logged()).not.toContain(rest);
    for (const part of jwt.split('.')) expect(service.logged()).not.toContain(part);
  });

  it('are repeated in no error, and neither is the address', async () => {
    const alice = await service.user('alice-echo');
    const workspace = await alice.workspace();
    const word = canary('echo');
    const bearer = { Authorization: `Bearer ${alice.token}` };
    const requests: [string, string, string?][] = [
      ['GET', `/${word}?token=${word}`],
      ['POST', `/api/v1/workspaces?token=${word}`, `{"${word}":"${word}"}`],
      ['POST', '/api/v1/workspaces', `{"name":["${word}"]}`],
      ['POST', '/api/v1/workspaces', word],
      ['POST', '/api/v1/workspaces', `{"name":"x","__proto__":"${word}"}`],
      ['GET', `/%zz${word}?token=${word}`],
      ['GET', `/api/v1/workspaces/${word}`],
      ['GET', `${workspace.path}/files/=${word}`],
      ['GET', `${workspace.path}/files/${word}`],
      ['PUT', `${workspace.path}/files/${word}?token=${word}`],
      ['GET', `${workspace.path}/sync/snapshot?pageCursor=${word}`],
      ['POST', `${workspace.path}/sync/push`, `{"deviceId":"${word} x","baseCursor":"${word}"}`],
      ['GET', `/api/auth/${word}?token=${word}`],
      ['GET', `/${word}${'a'.repeat(20_000)}`],
    ];
    for (const [method, path, body = ''] of requests) {
      const answer = await sendRaw(service.url, { method, path, headers: bearer, body });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expectFlat(answer, answer.status);
      expect(JSON.stringify(answer)).not.toContain(word);
    }
  });
});
