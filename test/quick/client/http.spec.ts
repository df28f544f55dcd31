import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  ApiError,
  chunksIn,
  Http,
  type HttpOptions,
  type HttpRequest,
  NetworkError,
  RenewedToken,
  sendAuthorized,
  SilenceError,
} from '../../../client/src/core/http/index.js';
import {
  eventually,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { FaultProxy, type Fault } from '../../kit/fault-proxy.js';
import { holdTimers, type HeldTimers } from '../../kit/held-timers.js';
import { sha256 } from '../../kit/workspace.js';

let service: TestService;
let proxy: FaultProxy;
let user: TestUser;
let workspace: TestWorkspace;
const servers: Server[] = [];
beforeAll(async () => {
  service = await startService();
  proxy = await FaultProxy.before(service.url);
  user = await service.user('ada');
  workspace = await user.workspace();
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await proxy.close();
  await service.close();
});
beforeEach(() => {
  proxy.heal();
  proxy.requests.length = 0;
});

/** A client that does not sleep, but records the requested pauses. */
function impatient(options: HttpOptions = {}) {
  const pauses: number[] = [];
  const sleep = (ms: number): Promise<void> => Promise.resolve(void pauses.push(ms));
  return { pauses, http: new Http({ sleep, random: () => 1, ...options }) };
}

/** Applies one fault to each request, and then none. */
function weather(...faults: Fault[]): void {
  proxy.set(() => faults.shift());
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const get = (path: string): HttpRequest => ({
  method: 'GET',
  url: proxy.url + path,
  headers: { authorization: `Bearer ${user.token}` },
  repeatable: true,
});
const create = (): HttpRequest => ({
  method: 'POST',
  url: `${proxy.url}/api/v1/workspaces`,
  headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' },
  body: '{ "name": "notes" }',
  repeatable: false,
});
const put = (path: string, content: Uint8Array): HttpRequest => ({
  method: 'PUT',
  url: proxy.url + workspace.file(path),
  headers: {
    authorization: `Bearer ${user.token}`,
    'content-type': 'application/octet-stream',
    'x-content-hash': sha256(Buffer.from(content)),
    'x-device-id': 'laptop',
  },
  body: content,
  repeatable: true,
});

describe('repeats', () => {
  it.each<Fault>([
    { kind: 'reset' },
    { kind: 'truncate request' },
    { kind: 'cut after sending' },
    { kind: 'truncate' },
    { kind: 'half-close' },
    { kind: 'answer', status: 502 },
    { kind: 'answer', status: 503 },
    { kind: 'answer', status: 429 },
    { kind: 'answer', status: 500 },
  ])('a repeatable request after $kind $status, with growing pauses', async (fault) => {
    const { http, pauses } = impatient();
    weather(fault, fault, fault);
    const answer = await http.send(get('/api/v1/auth/me'));
    expect(((await answer.json()) as { email: string }).email).toBe(user.email);
    expect(proxy.requests).toHaveLength(4);
    expect(pauses).toEqual([500, 1_000, 2_000]);
  });

  it('an upload whose answer is lost, which is stored once', async () => {
    const { http } = impatient();
    weather({ kind: 'cut after sending' }, { kind: 'truncate request' }, { kind: 'reset' });
    const answer = await http.send(put('bG9zdA', Buffer.alloc(200_000, 7)));
    expect(answer.status).toBe(200);
    expect(await workspace.versions('bG9zdA')).toHaveLength(1);
  });

  it.each<Fault>([{ kind: 'cut after sending' }, { kind: 'answer', status: 503 }, { kind: 'truncate' }])(
    'no request that may have been carried out: $kind',
    async (fault) => {
      const { http } = impatient();
      weather(fault);
      const answer = await http.send(create()).catch((error: unknown) => error);
      expect(answer instanceof NetworkError || (answer as Response).status === 503).toBe(true);
      expect(proxy.requests).toHaveLength(1);
    },
  );

  it('a request as often as allowed, and then returns the last answer or throws the error', async () => {
    const { http, pauses } = impatient({ retries: { attempts: 3 } });
    proxy.set(() => ({ kind: 'answer', status: 503 }));
    expect((await http.send(get('/health'))).status).toBe(503);
    expect(pauses).toHaveLength(2);
    proxy.set(() => ({ kind: 'reset' }));
    await expect(http.send(get('/health'))).rejects.toThrow(NetworkError);
    await expect(http.send(get('/health'))).rejects.toThrow(/127\.0\.0\.1:\d+ gave no whole answer: .+/);
  });

  it('a request after random pauses between zero and the full one', async () => {
    const draws = [0, 0.5, 0.25];
    const { http, pauses } = impatient({ random: () => draws.shift() ?? 1 });
    weather({ kind: 'reset' }, { kind: 'reset' }, { kind: 'reset' });
    await http.send(get('/health'));
    expect(pauses).toEqual([0, 500, 500]);
  });

  it.each([
    ['3', [3_500]],
    ['61', []],
    ['soon', [500]],
    ['Fri, 27 Nov 2020 20:00:00 GMT', [500]],
    ['Fri, 27 Nov 2093 20:00:00 GMT', []],
  ])('a request after the time in Retry-After: %s, up to a minute', async (header, expected) => {
    let count = 0;
    const url = await listening((_, response) => {
      if (count++ === 0) response.writeHead(503, { 'retry-after': header }).end();
      else response.end('ok');
    });
    const { http, pauses } = impatient();
    const answer = await http.send({ method: 'GET', url, repeatable: true });
    expect(answer.status).toBe(expected.length > 0 ? 200 : 503);
    expect(pauses).toEqual(expected);
  });

  it.each([429, 503])('any request that is refused with %d and a Retry-After', async (status) => {
    let count = 0;
    const url = await listening((_, response) => {
      if (count++ === 0) response.writeHead(status, { 'retry-after': '1' }).end();
      else response.writeHead(201).end();
    });
    const { http } = impatient();
    expect((await http.send({ method: 'POST', url, repeatable: false })).status).toBe(201);
  });

  it('nothing after the caller has aborted, also between attempts', async () => {
    const caller = new AbortController();
    const sleep = (): Promise<void> => {
      caller.abort(new Error('the person has closed the window'));
      return Promise.resolve();
    };
    const { http } = impatient({ sleep });
    weather({ kind: 'reset' });
    const sending = http.send({ ...get('/health'), signal: caller.signal });
    await expect(sending).rejects.toThrow('the person has closed the window');
    expect(proxy.requests).toHaveLength(1);
    const waiting = new Http().send({ ...get('/health'), signal: AbortSignal.abort(new Error('gone')) });
    await expect(waiting).rejects.toThrow('gone');
  });
});

describe('silence', () => {
  /** Safe on a slow machine, because the peer never speaks again. */
  const short = { silenceMs: 300, retries: { attempts: 1 } };
  /** Ends only when a test fires the timer. */
  const long = { silenceMs: 3_600_000, retries: { attempts: 1 } };
  let timers: HeldTimers;
  beforeEach(() => void (timers = holdTimers(long.silenceMs)));
  afterEach(() => timers.release());

  it.each<Fault>([{ kind: 'blackhole' }, { kind: 'stall' }])('ends a request: $kind', async (fault) => {
    const { http } = impatient(short);
    weather(fault);
    const sending = http.send(get('/api/v1/auth/me'));
    await expect(sending).rejects.toMatchObject({ name: 'NetworkError', cause: expect.any(SilenceError) });
  });

  it('ends an attempt without an answer, and the next one succeeds', async () => {
    const { http } = impatient({ silenceMs: long.silenceMs });
    weather({ kind: 'blackhole' });
    const sending = http.send(get('/health'));
    await eventually(() => expect(proxy.requests).toHaveLength(1));
    timers.goOff();
    expect((await sending).status).toBe(200);
    expect(proxy.requests).toHaveLength(2);
  });

  it('aborts a streamed answer', async () => {
    const { http } = impatient(long);
    const content = Buffer.alloc(300_000, 1);
    await http.send(put('c3RhbGw', content));
    weather({ kind: 'stall' });
    const answer = await http.send({ ...get(workspace.file('c3RhbGw')), streams: true });
    expect(answer.status).toBe(200);
    let received = 0;
    const reading = (async () => {
      for await (const chunk of chunksIn(answer.body)) received += chunk.length;
    })();
    const broken = expect(reading).rejects.toMatchObject({ name: 'NetworkError' });
    await eventually(() => expect(received).toBe(content.length / 2));
    timers.goOff();
    await broken;
  });

  it('does not limit the duration of a slow transfer: its timer restarts with each part', async () => {
    const PARTS = 12;
    let answered = (): void => undefined;
    const url = await listening((request, response) => {
      void (async () => {
        let received = 0;
        for await (const chunk of request) received += (chunk as Buffer).length;
        let part = 0;
        answered = () => (part++ < PARTS ? response.write('x') : response.end(String(received)));
        answered();
      })();
    });
    const begun: number[] = [];
    async function* slowly() {
      for (let part = 0; part < PARTS; part++) {
        yield Buffer.alloc(10_000);
        begun.push(timers.started);
        await nextTurn();
      }
    }
    const answer = await new Http(long).send({
      ...{ method: 'PUT', url, repeatable: true, streams: true },
      body: { open: slowly, length: PARTS * 10_000 },
    });
    let text = '';
    for await (const chunk of chunksIn(answer.body)) {
      text += Buffer.from(chunk).toString();
      begun.push(timers.started);
      answered();
    }
    expect(text).toBe(`${'x'.repeat(PARTS)}${PARTS * 10_000}`);
    expect(begun).toEqual([...new Set(begun)]);
    expect(timers.running()).toEqual([]);
  });

  it.each([true, false])(
    'allows an upload the time that buffers need; with streamed uploads: %s',
    async (streamsUploads) => {
      const received: Buffer[] = [];
      let read = (): void => undefined;
      const isRead = new Promise<void>((resolve) => (read = resolve));
      const url = await listening((request, response) => {
        void (async () => {
          await isRead; // until then, the body is in buffers of the system
          for await (const chunk of request) received.push(chunk as Buffer);
          response.end();
        })();
      });
      const content = Buffer.alloc(200_000);
      const http = new Http({ ...long, slowestBytesPerSecond: 20_000, streamsUploads });
      const sending = http.send({ method: 'PUT', url, body: content, repeatable: true });
      await eventually(() => expect(timers.running()).toEqual([long.silenceMs + 10_000]));
      read();
      expect((await sending).status).toBe(200);
      expect(Buffer.concat(received)).toHaveLength(content.length);
    },
  );

  it('is not timed while the caller does not read a streamed answer', async () => {
    const url = await listening((_, response) => response.end(Buffer.alloc(5_000_000)));
    const answer = await new Http(long).send({ method: 'GET', url, repeatable: true, streams: true });
    const { started } = timers;
    const chunks = chunksIn(answer.body);
    let { length } = (await chunks.next()).value as Uint8Array;
    // One chunk is read ahead.
    await eventually(() => expect([timers.started > started, timers.running()]).toEqual([true, []]));
    for await (const chunk of chunks) length += chunk.length;
    expect(length).toBe(5_000_000);
  });
});

describe('a body', () => {
  it.each([true, false])(
    'from a stream is opened once for each attempt; with streamed uploads: %s',
    async (streamsUploads) => {
      const { http } = impatient({ streamsUploads });
      const content = Buffer.alloc(150_000, 3);
      let begun = 0;
      // oxlint-disable-next-line typescript/require-await
      async function* stream() {
        begun++;
        for (let at = 0; at < content.length; at += 10_000) yield content.subarray(at, at + 10_000);
      }
      weather({ kind: 'truncate request' });
      const path = streamsUploads ? 'c3RyZWFt' : 'd2hvbGU';
      expect(
        (await http.send({ ...put(path, content), body: { open: stream, length: content.length } })).status,
      ).toBe(201);
      expect(begun).toBe(2);
      expect((await workspace.get(path).expect(200)).body).toEqual(content);
    },
  );
});

describe('an error of the service', () => {
  it('has its status, its reason, all other fields and the id of the request', async () => {
    const { http } = impatient();
    const request = {
      method: 'POST',
      url: `${service.url}${workspace.path}/sync/pull`,
      headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ deviceId: 'x', cursor: 9_000 }),
      repeatable: true,
    };
    const error = await ApiError.of(request, await http.send(request));
    expect(error).toMatchObject({
      status: 409,
      error: expect.stringMatching(/start again from the snapshot/),
      fields: { needsBootstrap: true, compactionFloor: 0 },
      requestId: expect.stringMatching(/./),
    });
    expect(error.message).toMatch(/^POST \/api\/v1\/workspaces\/\S+\/sync\/pull answered 409: the cursor/);
  });

  it.each(['', 'not json', '[1]', 'null', '{"error":7}'])('has no reason for the body %j', async (body) => {
    const error = await ApiError.of(
      { method: 'GET', url: 'http://x/y' },
      new Response(body, { status: 500 }),
    );
    expect(error.message).toBe('GET /y answered 500: no reason given');
  });
});

describe('tokens', () => {
  it('are renewed once for many requests that are refused with the same token', async () => {
    let made = 0;
    const tokens = new RenewedToken(() => Promise.resolve(`token ${++made}`));
    const seen: string[] = [];
    const url = await listening((request, response) => {
      const token = request.headers.authorization ?? '';
      seen.push(token);
      response.writeHead(token === 'Bearer token 1' ? 401 : 200).end();
    });
    const { http } = impatient();
    const request = { method: 'GET', url, repeatable: true };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => sendAuthorized(http, tokens, request)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(made).toBe(2);
  });

  it('are requested again after a failure, and renewed at most once for a request', async () => {
    let calls = 0;
    const tokens = new RenewedToken(() =>
      ++calls === 1 ? Promise.reject(new Error('no')) : Promise.resolve('t'),
    );
    await expect(Promise.all([tokens.current(), tokens.current()])).rejects.toThrow('no');
    expect(await tokens.current()).toMatchObject({ token: 't' });
    expect(calls).toBe(2);
    const url = await listening((_, response) => response.writeHead(401).end());
    const answer = await sendAuthorized(impatient().http, tokens, { method: 'GET', url, repeatable: true });
    expect(answer.status).toBe(401);
    expect(calls).toBe(3);
  });

  it('are renewed before a JWT expires, by its lifetime and not by the clock of the server', async () => {
    let [now, made] = [1_000_000_000_000, 0];
    const jwt = () => {
      const claims = { iat: 50, exp: 950, n: ++made };
      return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
    };
    const tokens = new RenewedToken(
      () => Promise.resolve(jwt()),
      () => now,
    );
    await tokens.current();
    now += 839_000;
    await Promise.all([tokens.current(), tokens.current()]);
    expect(made).toBe(1);
    now += 2_000;
    await Promise.all([tokens.current(), tokens.current()]);
    expect(made).toBe(2);
  });
});
