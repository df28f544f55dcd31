import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import supertest from 'supertest';
import { Configuration } from '../../../src/platform/config/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { HELD_OF_STREAM, InFlightRequests } from '../../../src/platform/http/index.js';
import {
  LEAST_BYTES,
  LOOK_EVERY_MS,
  LOOKS_OF_INTERVAL,
  type WaitingClients,
} from '../../../src/platform/http/waiting-clients.js';
import { TestVault } from '../../kit/automation.js';
import { eventually, sha256, startService, type TestService, type TestUser } from '../../kit/index.js';
import { answerOf, earlyAnswer, headOf, openSocket, received } from '../../kit/raw-http.js';

const MIB = 1024 * 1024;
const MOST_UNDER_WAY = 2_000;
const ADDRESSES = 10;

let service: TestService;
let waiting: WaitingClients;
const open: Socket[] = [];

async function start(env: Record<string, string> = {}): Promise<void> {
  service = await startService({ env });
  ({ waiting } = service.app.get(InFlightRequests));
}

async function close(): Promise<void> {
  for (const socket of open.splice(0)) socket.destroy();
  await eventually(() => expect([waiting.size, waiting.heldBytes, waiting.unsentBodies]).toEqual([0, 0, 0]));
  await service.close();
}

/** A connection from a local address, each of which counts as a network. */
function from(localAddress: string): Socket {
  const port = Number(new URL(service.url).port);
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  open.push(socket);
  return socket;
}

const signOut = (length: number): Buffer =>
  headOf('POST', '/api/auth/sign-out', {
    Host: 'x',
    'Content-Type': 'application/json',
    'Content-Length': String(length),
  });

/** A pull of which only the head is sent. */
function begunPull(user: TestUser, path: string, length: number, socket = openSocket(service.url)): Socket {
  open.push(socket);
  const headers = { Host: 'x', Authorization: `Bearer ${user.token}`, Connection: 'close' };
  socket.write(headOf('POST', `${path}/sync/pull`, { ...headers, 'Content-Length': String(length) }));
  return socket;
}

const uploadHead = ({ token }: TestUser, file: string, length: number): Buffer =>
  headOf('PUT', file, {
    Host: 'x',
    Authorization: `Bearer ${token}`,
    'X-Device-Id': 'slow',
    'X-Content-Hash': sha256(''),
    'Content-Length': String(length),
    Connection: 'close',
  });

const looks = (count: number): void => {
  for (let look = 0; look < count; look++) waiting.look();
};

describe('requests with slow bodies', () => {
  beforeAll(() => start());
  afterAll(close);

  it('occupy no slots: more than all slots, from ten addresses, keep nobody out', async () => {
    for (let n = 0; n <= MOST_UNDER_WAY; n++) {
      from(`127.0.0.${10 + (n % ADDRESSES)}`).write(Buffer.concat([signOut(100), Buffer.from('{')]));
      if (n % 100 === 0) await eventually(() => expect(waiting.size).toBe(n + 1));
    }
    await eventually(() => expect(waiting.unsentBodies).toBe(MOST_UNDER_WAY + 1));
    const inFlight = service.app.get(InFlightRequests);
    expect([inFlight.count, inFlight.underWay]).toEqual([MOST_UNDER_WAY + 1, 0]);
    expect(inFlight.hasMoreThanItsShare('127.0.0.10')).toBe(false); // which has the most
    await supertest(service.url).get('/api/auth/jwks').expect(200);
  });
});

describe('responses that are not read', () => {
  beforeAll(() => start());
  afterAll(close);

  it('occupy no slot, however much of them is left', async () => {
    const alice = await service.user('alice');
    const workspace = await alice.workspace();
    await workspace.put('bGFyZ2U', randomBytes(32 * MIB)).expect(201);
    const inFlight = service.app.get(InFlightRequests);
    for (let n = 0; n < 5; n++) {
      const socket = from('127.0.0.1').pause();
      socket.write(
        headOf('GET', workspace.file('bGFyZ2U'), { Host: 'x', Authorization: `Bearer ${alice.token}` }),
      );
    }
    await eventually(() => expect([inFlight.count, inFlight.underWay]).toEqual([5, 0]));
  });
});

describe('slow uploads', () => {
  beforeAll(() => start());
  afterAll(close);

  it('that end together, by the client or with 408, do not query the state of the caller', async () => {
    const alice = await service.user('alice');
    const workspace = await alice.workspace();
    await workspace.put('Zmlyc3Q', 'the guard reads nothing from now on').expect(201);
    const slow = Array.from({ length: 20 }, () => {
      const socket = from('127.0.0.1');
      socket.write(uploadHead(alice, workspace.file('c2xvdw'), 5_000));
      return socket;
    });
    await eventually(() => expect(waiting.unsentBodies).toBe(20));
    const run = jest.spyOn(service.app.get(Database), 'run');
    for (const socket of slow.splice(0, 10)) socket.destroy();
    await eventually(() => expect(waiting.unsentBodies).toBe(10));
    const answers = slow.map((socket) => earlyAnswer(socket));
    looks(LOOKS_OF_INTERVAL);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(10).fill(408));
    const names = run.mock.calls.map(([{ name }]) => name);
    run.mockRestore();
    expect(names).not.toContain('access.caller_state');
  });
});

describe('the minimum pace of a body', () => {
  let alice: TestUser;
  let path: string;
  beforeAll(async () => {
    await start();
    alice = await service.user('alice');
    ({ path } = await alice.workspace());
  });
  afterAll(close);

  const progressed = (bytes: number): Promise<void> =>
    eventually(() =>
      expect([...waiting].map((client) => [client.progress, client.isSilent])).toEqual([[bytes, true]]),
    );

  it('is met by a client that sends LEAST_BYTES in each of many intervals', async () => {
    const body = JSON.stringify({ deviceId: 'slow', cursor: 0 }).padStart(40 * LEAST_BYTES);
    const socket = begunPull(alice, path, body.length);
    const answer = received(socket);
    await progressed(0);
    let sent = 0;
    for (; sent < body.length - LEAST_BYTES; sent += LEAST_BYTES) {
      looks(LOOKS_OF_INTERVAL - 1);
      socket.write(body.slice(sent, sent + LEAST_BYTES));
      await progressed(sent + LEAST_BYTES);
      looks(1);
    }
    socket.write(body.slice(sent));
    expect(answerOf(await answer).status).toBe(200);
  });

  it('is not met by a client that sends a byte less in one: 408, and the connection is closed', async () => {
    const socket = begunPull(alice, path, 3 * LEAST_BYTES);
    await progressed(0);
    socket.write(Buffer.alloc(LEAST_BYTES, ' '));
    await progressed(LEAST_BYTES);
    looks(LOOKS_OF_INTERVAL);
    socket.write(Buffer.alloc(LEAST_BYTES - 1, ' '));
    await progressed(2 * LEAST_BYTES - 1);
    looks(LOOKS_OF_INTERVAL - 1);
    expect(waiting.size).toBe(1);
    looks(1);
    const { status, headers, body } = await earlyAnswer(socket);
    expect([status, JSON.parse(body)]).toEqual([408, { error: 'the request body took too long' }]);
    expect(headers['connection']).toBe('close');
  });

  it('is met by a phone that uploads 5 MB at 8 kB/s and pauses ten seconds a minute', async () => {
    const workspace = await alice.workspace();
    const body = randomBytes(5_000_000);
    const socket = openSocket(service.url);
    open.push(socket);
    const headers = { Host: 'x', Authorization: `Bearer ${alice.token}`, 'X-Device-Id': 'phone' };
    const rest = {
      'X-Content-Hash': sha256(body),
      'Content-Length': String(body.length),
      Connection: 'close',
    };
    socket.write(headOf('PUT', workspace.file('cGhvdG8'), { ...headers, ...rest }));
    const answer = received(socket);
    await progressed(0);
    const perLook = 8 * LOOK_EVERY_MS; // bytes
    for (let [sent, look] = [0, 0]; sent < body.length; look++) {
      if (look % 12 < 10) {
        socket.write(body.subarray(sent, (sent += perLook)));
        if (sent >= body.length) break;
        await progressed(sent);
      }
      looks(1);
    }
    expect(answerOf(await answer).status).toBe(201);
    expect((await workspace.get('cGhvdG8').expect(200)).body).toEqual(body);
  });

  it('does not include the time in which the service is busy', async () => {
    const silent = begunPull(alice, path, 10);
    await progressed(0);
    silent.write('{');
    await progressed(1);
    const [client] = waiting;
    client!.goOn(); // as while a chunk is processed
    looks(10 * LOOKS_OF_INTERVAL);
    client!.wait();
    looks(LOOKS_OF_INTERVAL - 1);
    expect(waiting.size).toBe(1);
    looks(1);
    expect((await earlyAnswer(silent)).status).toBe(408);
  });
});

describe('waiting clients beyond a limit', () => {
  beforeEach(start);
  afterEach(close);

  it('lose the slowest client of the network that has the most', async () => {
    waiting.most.clients = 12;
    const many = Array.from({ length: 9 }, () => from('127.0.0.2'));
    const few = Array.from({ length: 3 }, () => from('127.0.0.3'));
    for (const socket of [...many, ...few]) socket.write(signOut(5_000));
    await eventually(() => expect(waiting.unsentBodies).toBe(12));
    looks(3); // the next ones are new
    for (const [n, socket] of many.entries()) if (n !== 4) socket.write('{'.padEnd(3_000));
    await eventually(() => expect([...waiting].filter(({ progress }) => progress === 3_000)).toHaveLength(8));
    const honest = from('127.0.0.4');
    const answer = earlyAnswer(honest);
    honest.write(Buffer.concat([signOut(2), Buffer.from('{')]));
    const dropped = await earlyAnswer(many[4]!);
    expect([dropped.status, JSON.parse(dropped.body)]).toEqual([
      408,
      { error: 'too many request bodies are incomplete: yours was the slowest or the largest' },
    ]);
    await eventually(() => expect(waiting.unsentBodies).toBe(12));
    honest.write('}');
    expect((await answer).status).toBe(200);
  });

  it('lose the latest client when networks have equally many', async () => {
    waiting.most.clients = 1;
    const [first, last] = [from('127.0.0.2'), from('127.0.0.3')];
    const answer = earlyAnswer(first);
    first.write(signOut(2));
    await eventually(() => expect(waiting.unsentBodies).toBe(1));
    last.write(signOut(2));
    expect((await earlyAnswer(last)).status).toBe(408);
    first.write('{}');
    expect((await answer).status).toBe(200);
  });

  it('lose a client of the account that holds the most bytes', async () => {
    waiting.most.heldBytes = MIB;
    const [alice, bob] = [await service.user('alice'), await service.user('bob')];
    const [hers, his] = [await alice.workspace(), await bob.workspace()];
    const large = Array.from({ length: 4 }, () => begunPull(alice, hers.path, 300_000));
    for (const socket of large) socket.write(Buffer.alloc(200_000, ' '));
    await eventually(() => expect([waiting.heldBytes, waiting.unsentBodies]).toEqual([800_000, 4]));

    const body = JSON.stringify({ deviceId: 'b', cursor: 0 }).padStart(400_000);
    const socket = begunPull(bob, his.path, body.length);
    const answer = received(socket);
    socket.write(body.slice(0, 350_000));
    await eventually(() => expect(waiting.dropped.room).toBe(1));
    const first = await Promise.race(large.map((one) => earlyAnswer(one)));
    expect(first.status).toBe(408);
    await eventually(() => expect([waiting.heldBytes, waiting.size]).toEqual([950_000, 4]));
    socket.write(body.slice(350_000));
    expect(answerOf(await answer).status).toBe(200);
  });

  it('lose a growing client of the account that holds the most, even if it is not silent', async () => {
    waiting.most.heldBytes = MIB / 2;
    const [alice, bob] = [await service.user('alice'), await service.user('bob')];
    const [hers, his] = [await alice.workspace(), await bob.workspace()];
    const body = JSON.stringify({ deviceId: 'b', cursor: 0 }).padStart(100_000);
    const small = begunPull(bob, his.path, body.length, from('127.0.0.2'));
    const answer = received(small);
    small.write(body.slice(0, 90_000));
    await eventually(() => expect([waiting.heldBytes, waiting.unsentBodies]).toEqual([90_000, 1]));

    const large = begunPull(alice, hers.path, MIB, from('127.0.0.3'));
    await eventually(() => expect(waiting.unsentBodies).toBe(2));
    large.write(Buffer.alloc(MIB / 2, ' '));
    expect((await earlyAnswer(large)).status).toBe(408);
    expect(waiting.dropped.room).toBe(1);
    await eventually(() => expect([waiting.heldBytes, waiting.size]).toEqual([90_000, 1]));
    small.write(body.slice(90_000));
    expect(answerOf(await answer).status).toBe(200);
  });

  it('lose the slowest client of the largest account of a network, not of the network', async () => {
    waiting.most.clients = 5;
    const [alice, bob] = [await service.user('alice'), await service.user('bob')];
    const [hers, his] = [await alice.workspace(), await bob.workspace()];
    const body = JSON.stringify({ deviceId: 'b', cursor: 0 });
    const slow = begunPull(bob, his.path, body.length, from('127.0.0.2'));
    const answer = received(slow);
    await eventually(() => expect(waiting.unsentBodies).toBe(1));
    looks(3); // the other clients are new
    const many = Array.from({ length: 4 }, () => begunPull(alice, hers.path, 100, from('127.0.0.2')));
    await eventually(() => expect(waiting.unsentBodies).toBe(5));
    from('127.0.0.3').write(signOut(100));
    const first = await Promise.race(many.map((one) => earlyAnswer(one)));
    expect(first.status).toBe(408);
    await eventually(() => expect([waiting.size, waiting.dropped.room]).toEqual([5, 1]));
    slow.write(body);
    expect(answerOf(await answer).status).toBe(200);
  });
});

describe('bytes that are held for a silent client', () => {
  beforeAll(() => start({ INLINE_BLOB_BYTES: '100000' }));
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await eventually(() => expect(waiting.size).toBe(0));
  });
  afterAll(close);

  it('include those that arrived before its first pause', async () => {
    const socket = from('127.0.0.1');
    const part = '{'.padEnd(1_000);
    socket.write(Buffer.concat([signOut(5_000), Buffer.from(part)])); // one segment
    await eventually(() => expect([waiting.unsentBodies, waiting.heldBytes]).toEqual([1, part.length]));
  });

  it('are those of the decoded text of a note, without its escapes', async () => {
    const alice = await service.user('alice');
    const vault = await TestVault.setUp(await alice.workspace());
    const text = '\\u0061'.repeat(40_000);
    const start = `{"content":"${text}`;
    const headers = {
      Host: 'x',
      Authorization: `Bearer ${alice.token}`,
      'X-Key-Session': vault.keySession,
      'X-Device-Id': 'tool',
      'Content-Type': 'application/json',
      'Content-Length': String(2 * start.length),
    };
    const socket = openSocket(service.url);
    open.push(socket);
    socket.write(Buffer.concat([headOf('PUT', `${vault.path}/notes/a.md`, headers), Buffer.from(start)]));
    await eventually(() => {
      expect([...waiting].map(({ isSilent }) => isSilent)).toEqual([true]);
      expect(waiting.heldBytes).toBe(40_000 + HELD_OF_STREAM);
    });
  });

  it('are released when an upload fails before the store reads it, and the rest is discarded', async () => {
    const alice = await service.user('alice');
    const workspace = await alice.workspace();
    const socket = openSocket(service.url);
    open.push(socket);
    socket.write(uploadHead(alice, workspace.file('bGFyZ2U'), 300_000));
    socket.write(Buffer.alloc(40_000));
    await eventually(() => expect(waiting.unsentBodies).toBe(1));
    await service.database.query('DELETE FROM workspaces WHERE id = $1', [workspace.id]);
    const answer = earlyAnswer(socket);
    socket.write(Buffer.alloc(100_000));
    expect((await answer).status).toBe(404);
    await eventually(() => expect([waiting.size, waiting.heldBytes]).toEqual([0, 0]));
    const ended = new Promise((resolve) => socket.once('end', resolve));
    socket.resume().write(Buffer.alloc(160_000));
    await ended;
  });

  it('include an upload that may still become an inline blob', async () => {
    const alice = await service.user('alice');
    const { inlineBlobBytes } = service.app.get(Configuration);
    const workspace = await alice.workspace();
    const socket = openSocket(service.url);
    open.push(socket);
    socket.write(uploadHead(alice, workspace.file('c21hbGw'), inlineBlobBytes));
    socket.write(Buffer.alloc(inlineBlobBytes - 1));
    await eventually(() => expect(waiting.heldBytes).toBe(inlineBlobBytes - 1));
  });

  it('may be a body of the maximum size and 16 MiB more', () => {
    const { maxFileBytes } = service.app.get(Configuration);
    expect(waiting.most.heldBytes).toBeGreaterThanOrEqual(maxFileBytes + 16 * MIB);
  });
});
