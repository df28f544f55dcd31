import supertest from 'supertest';
import { Database } from '../../../src/platform/database/index.js';
import { holdTable } from '../../kit/hold.js';
import { holdTimers } from '../../kit/held-timers.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { waitPatiently } from '../../kit/patient-locks.js';

/** 100 statements may wait for a pool of this size; from half of that on, a network gets at most an equal share. */
const POOL_SIZE = 2;
const MOST_WAITING = 50 * POOL_SIZE;

const OVERLOADED = { error: 'the service is overloaded' };
const TRIES = 5;
const BUSY = '203.0.113.1';
const CALM = '203.0.113.2';

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { DATABASE_POOL_SIZE: String(POOL_SIZE), TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());

describe('more requests than the database can answer', () => {
  it('are refused with 503: first those of the busiest network, then all; no acknowledged write is lost', async () => {
    const database = service.app.get(Database);
    const busy = await (await service.user('busy')).workspace();
    const calm = await (await service.user('calm')).workspace();
    const sent: Promise<supertest.Response>[] = [];
    const send = (request: supertest.Test, address: string): Promise<supertest.Response> => {
      const answered = request.set('X-Forwarded-For', address).then((answer) => answer);
      sent.push(answered);
      return answered;
    };
    const read = (): Promise<supertest.Response> => send(busy.user.get(`${busy.path}/sync/status`), BUSY);
    const write = (address: string): Promise<supertest.Response> =>
      send(calm.put(`path-${sent.length}`, 'content'), address);
    /** Sends requests until so many statements wait. */
    const fill = async (waiting: number, ask: (n: number) => unknown): Promise<void> => {
      for (let n = database.waiting; n < waiting; n++) ask(n);
      await eventually(() => expect(database.waiting).toBeGreaterThanOrEqual(waiting));
    };
    /** Several at once, because a statement of the service itself may come to wait meanwhile. */
    const expectRefused = async (ask: () => Promise<supertest.Response>): Promise<void> => {
      const before = database.waiting;
      const refusals: supertest.Response[] = [];
      for (let n = 0; n < TRIES; n++) void ask().then((refusal) => refusals.push(refusal));
      await eventually(() =>
        expect(Math.max(refusals.length, database.waiting - before)).toBeGreaterThanOrEqual(TRIES),
      );
      const answers = refusals.map(({ status, headers, body }) => [status, headers['retry-after'], body]);
      expect(answers).toEqual(Array(TRIES).fill([503, '2', OVERLOADED]));
    };

    // However slow the machine is, nothing gives up waiting.
    await waitPatiently(service);
    const timers = holdTimers(5_000, 5_000);
    const held = await holdTable(service.database, 'subscriptions'); // every guard reads it
    let neighbour: Promise<supertest.Response>;
    try {
      void write(CALM);
      void read();
      await held.waiting(POOL_SIZE);
      await fill(MOST_WAITING / 2 + 1, read);
      await expectRefused(read);
      neighbour = write(CALM);
      await eventually(() => expect(database.waiting).toBeGreaterThan(MOST_WAITING / 2 + 1));
      await expectRefused(read);
      await fill(MOST_WAITING + 1, (n) => write(`198.51.100.${n}`));
      await expectRefused(() => write(CALM));
      await supertest(service.url).get('/health').expect(200);
    } finally {
      timers.release();
      await held.release();
    }
    expect((await neighbour).status).toBe(201);
    const answers = await Promise.all(sent);
    const refusals = answers.filter(({ status }) => status !== 200 && status !== 201);
    for (const { status, body } of refusals) expect([status, body]).toEqual([503, OVERLOADED]);
    const stored = answers.filter(({ status }) => status === 201);
    expect(await calm.list()).toHaveLength(stored.length);
  });
});
