import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import supertest from 'supertest';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { eventually, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { headOf, openSocket, received } from '../../kit/raw-http.js';
import { firstOf, itDeep } from '../../kit/rounds.js';

const MIB = 1024 * 1024;
/** Per connection. */
const MOST_UNANSWERED = 16;
const MOST_UNDER_WAY = 2_000;
const PER_ADDRESS = 1_000;

/** The statuses of all responses on a connection, in order. No response body contains a status line. */
const statusesIn = (bytes: Buffer): number[] =>
  [...bytes.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe('pipelined requests on one connection', () => {
  let service: TestService;
  let workspace: TestWorkspace;
  let download: Buffer;
  let inFlight: InFlightRequests;
  beforeAll(async () => {
    service = await startService();
    inFlight = service.app.get(InFlightRequests);
    const alice = await service.user('alice');
    workspace = await alice.workspace();
    await workspace.put('bGFyZ2U', randomBytes(16 * MIB)).expect(201);
    download = headOf('GET', workspace.file('bGFyZ2U'), {
      Host: 'x',
      Authorization: `Bearer ${alice.token}`,
    });
  });
  afterAll(() => service.close());
  afterEach(() => eventually(() => expect(inFlight.count).toBe(0)));

  /** Sends requests behind a download that is not read, so that their responses wait. */
  function unread(requests: string | Buffer): Socket {
    const socket = openSocket(service.url)
      .on('error', () => undefined)
      .pause();
    socket.write(Buffer.concat([download, Buffer.from(requests)]));
    return socket;
  }

  it.each(
    firstOf(2, [
      ['have bodies', 'POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /', 404],
      ['ask for health', 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n', 200],
      ['have no Host', 'GET /health HTTP/1.1\r\n\r\n', 400],
      ['are for no route', 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n', 404],
      ['cannot be routed', 'GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n', 400],
      ['are preflights', 'OPTIONS /health HTTP/1.1\r\nHost: x\r\nOrigin: https://x.example\r\n\r\n', 404],
      ['expect what cannot be met', 'GET /health HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n', 417],
    ] as const),
  )('are started at most sixteen at a time when they %s', async (_, request, status) => {
    const closes = status === 417; // an answer that ends the connection
    const socket = unread(request.repeat(400));
    await eventually(() => expect(inFlight.count).toBe(MOST_UNANSWERED));
    for (let n = 0; n < 20; n++) await supertest(service.url).get('/health').expect(200);
    expect(inFlight.count).toBe(MOST_UNANSWERED);

    if (!closes) socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const answers = received(socket);
    socket.resume();
    const statuses = statusesIn(await answers);
    expect(statuses).toEqual(closes ? [200, 417] : [200, ...Array<number>(400).fill(status), 200]);
  });

  it.each([1, 2, 3, 4])(
    'are started sixteen at a time behind a body whose headers end %d bytes into the next packet',
    async (late) => {
      const head = Buffer.from('POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 60001\r\n\r\n');
      const socket = unread(head.subarray(0, head.length - late)).setNoDelay();
      const packets = [
        Buffer.concat([head.subarray(head.length - late), Buffer.alloc(60_000, 'b')]),
        Buffer.from(`b${'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(400)}`),
      ];
      for (const packet of packets) {
        for (let n = 0; n < 5; n++) await supertest(service.url).get('/health').expect(200);
        socket.write(packet);
      }
      await eventually(() => expect(inFlight.count).toBeGreaterThanOrEqual(MOST_UNANSWERED));
      for (let n = 0; n < 20; n++) await supertest(service.url).get('/health').expect(200);
      expect(inFlight.count).toBe(MOST_UNANSWERED);
      socket.destroy();
    },
  );

  itDeep('are answered in order, a thousand of them, however they are split into packets', async () => {
    const kinds: [string, number][] = [
      ['GET /health HTTP/1.1\r\nHost: x\r\n\r\n', 200],
      ['GET /none HTTP/1.1\r\nHost: x\r\n\r\n', 404],
      [
        `POST ${workspace.path}/sync/pull HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n{"deviceId":1}`,
        401,
      ],
      ['GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ];
    const picks = [...randomBytes(1_000)].map((byte) => kinds[byte % kinds.length]!);
    const bytes = Buffer.from(
      `${picks.map(([request]) => request).join('')}GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    for (const packet of [bytes.length, 997, 61]) {
      const socket = openSocket(service.url);
      const answers = received(socket);
      for (let at = 0; at < bytes.length; at += packet) socket.write(bytes.subarray(at, at + packet));
      expect(statusesIn(await answers)).toEqual([...picks.map(([, status]) => status), 200]);
    }
  });

  it('may end with an upgrade', async () => {
    const { id, user } = workspace;
    const socket = openSocket(service.url);
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100));
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])));
    await eventually(() => expect(statusesIn(bytes)).toHaveLength(100));
    const upgrade = { Host: 'x', Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
    const path = `/api/v1/workspaces/${id}/ws?token=${user.token}`;
    const ping = Buffer.concat([Buffer.of(0x89, 0x84, 0, 0, 0, 0), Buffer.from('ping')]);
    socket.write(headOf('GET', path, { ...upgrade, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' }));
    socket.write(ping);
    await eventually(() => expect(bytes.includes('HTTP/1.1 101 ')).toBe(true));
    socket.write(ping);
    const pong = '\x8a\x04ping';
    await eventually(() => expect(bytes.toString('latin1').endsWith(pong + pong)).toBe(true));
    socket.destroy();
    await once(socket, 'close');
  });

  itDeep(
    'take no slots of other users, and are cut off when unread responses hold too much memory',
    async () => {
      const bob = await service.user('bob');
      const sockets = Array.from({ length: 130 }, () =>
        unread('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200)),
      );
      await eventually(() => expect(inFlight.count).toBe(sockets.length * MOST_UNANSWERED));
      expect(inFlight.count).toBeGreaterThan(MOST_UNDER_WAY);
      await bob.get('/api/v1/workspaces').expect(200);

      expect(inFlight.cutUnread(256 * MIB)).toBe(0);
      expect(inFlight.cutUnread(64 * MIB)).toBeGreaterThan(0);
      for (const socket of sockets) socket.destroy();
    },
  );
});

describe('connections of one address', () => {
  let service: TestService;
  const open: Socket[] = [];
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await service.close();
  });

  /** Opens connections, which the service may close at once. */
  async function connectAll(count: number, localAddress: string): Promise<Socket[]> {
    const port = Number(new URL(service.url).port);
    const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress }));
    open.push(...sockets);
    await Promise.all(
      sockets.map((socket) =>
        once(
          socket.on('error', () => undefined),
          'connect',
        ),
      ),
    );
    return sockets;
  }

  const ask = async (socket: Socket): Promise<number[]> => {
    const answer = received(socket);
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    return statusesIn(await answer);
  };

  it(`are limited to ${PER_ADDRESS} until one is closed; other addresses have their own limit`, async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' } });
    await connectAll(PER_ADDRESS, '127.0.0.2');
    // The system may report a connection as open before the service has accepted it.
    await eventually(async () => expect(await ask((await connectAll(1, '127.0.0.2'))[0]!)).toEqual([]));
    expect(await ask((await connectAll(1, '127.0.0.3'))[0]!)).toEqual([200]);

    open[0]!.destroy();
    await eventually(async () => expect(await ask((await connectAll(1, '127.0.0.2'))[0]!)).toEqual([200]));
  });

  itDeep('are not limited behind a trusted proxy', async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200', TRUST_PROXY: 'true' } });
    await connectAll(PER_ADDRESS, '127.0.0.2');
    expect(await ask((await connectAll(1, '127.0.0.2'))[0]!)).toEqual([200]);
  });
});
