import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { eventually, sha256, startService, type TestService, TestWorkspace } from '../../kit/index.js';
import { answerOf, headOf, openSocket, type RawAnswer, received } from '../../kit/raw-http.js';
import { itDeep } from '../../kit/rounds.js';

const KIB = 1024;
/** Spans two of the checks, every ten seconds, that a client is still sending. */
const SECONDS = 24;

describe('a refusal that comes before the body', () => {
  let service: TestService;
  let workspace: TestWorkspace;
  beforeAll(async () => {
    service = await startService({ env: { MAX_FILE_BYTES: String(1024 * KIB) } });
    // The plan is checked before the workspace, which therefore need not exist.
    workspace = new TestWorkspace(
      await service.newcomer('without-plan'),
      '01890000-0000-7000-8000-000000000000',
    );
  });
  afterAll(() => service.close());

  const upload = (length: number, connection: string): Buffer =>
    headOf('PUT', workspace.file('c2xvdw'), {
      Host: 'x',
      Authorization: `Bearer ${workspace.user.token}`,
      'X-Content-Hash': sha256(''),
      'X-Device-Id': 'slow',
      'Content-Length': String(length),
      Connection: connection,
    });

  /** Reads nothing before the last byte is sent, as many clients do. */
  async function sendThenRead(socket: Socket, pieces: Buffer[], everyMs: number): Promise<RawAnswer> {
    const bytes = received(socket.pause());
    for (const piece of pieces) {
      socket.write(piece);
      if (everyMs > 0) await pause(everyMs);
    }
    socket.resume();
    if (!socket.destroyed) socket.end();
    return answerOf(await bytes);
  }

  it.each(['keep-alive', 'close'])(
    'reaches a client that reads only after sending the whole body (Connection: %s)',
    async (connection) => {
      const body = Buffer.alloc(900 * KIB);
      const answer = await sendThenRead(openSocket(service.url), [upload(body.length, connection), body], 0);
      expect(answer).toMatchObject({ status: 402 });
    },
  );

  itDeep(
    'reaches a client that sends 4 KiB a second, but not one that sends 100 bytes a second',
    async () => {
      const inFlight = service.app.get(InFlightRequests);
      const slowly = (bytes: number, connection: string): Promise<RawAnswer> => {
        const pieces = Array.from({ length: SECONDS }, () => Buffer.alloc(bytes));
        return sendThenRead(openSocket(service.url), [upload(bytes * SECONDS, connection), ...pieces], 1_000);
      };
      const [kept, closing, hardly] = await Promise.all([
        slowly(4 * KIB, 'keep-alive'),
        slowly(4 * KIB, 'close'),
        slowly(100, 'keep-alive'),
      ]);
      expect([kept.status, closing.status, hardly.status]).toEqual([402, 402, 0]);
      expect(JSON.parse(kept.body)).toEqual({ error: 'an active subscription is required' });
      await eventually(async () => expect(await inFlight.connections()).toBe(0));
    },
  );

  it('leaves the connection usable for the next request once the body has arrived', async () => {
    const socket = openSocket(service.url);
    const body = Buffer.alloc(200 * KIB);
    const next = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const bytes = received(socket);
    socket.write(Buffer.concat([upload(body.length, 'keep-alive'), body, Buffer.from(next)]));
    const statuses = [...(await bytes).toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)];
    expect(statuses.map(([, status]) => status)).toEqual(['402', '200']);
  });
});
