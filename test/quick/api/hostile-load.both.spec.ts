import type { Socket } from 'node:net';
import supertest from 'supertest';
import { Database } from '../../../src/platform/database/index.js';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { holdTable } from '../../kit/hold.js';
import { eventually, startService, type TestService, type TestUser } from '../../kit/index.js';
import { headOf, openSocket, unfinishedUpload } from '../../kit/raw-http.js';
import { itDeep } from '../../kit/rounds.js';

/** One user or one fault must not affect all other users. */
describe('the service', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await startService();
  });
  afterEach(() => service.close());

  itDeep('keeps running when database connections die during sign-ups', async () => {
    for (let round = 0; round < 5; round++) {
      const signUps = Array.from({ length: 8 }, (_, i) =>
        supertest(service.url)
          .post('/api/auth/sign-up/email')
          .send({ email: `round${round}-${i}@example.org`, password: 'a long password', name: 'Somebody' })
          .then(({ status }) => status),
      );
      await service.database.eventually(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      );
      await service.database.query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'cloud-sync-service'`,
      );
      for (const status of await Promise.all(signUps)) expect([200, 503]).toContain(status);
    }
    await supertest(service.url).get('/health').expect(200);
    const alice = await service.user('alice');
    await alice.workspace();
  });

  itDeep('refuses a body of millions of values with 400', async () => {
    const alice = await service.user('alice');
    const workspace = await alice.workspace();
    const values = `[${'{},'.repeat(2_500_000)}{}]`;
    const push = (body: string): supertest.Test =>
      alice.post(`${workspace.path}/sync/push`).set('Content-Type', 'application/json').send(body);
    const { body } = await push(`{"deviceId":"d","baseCursor":0,"changes":${values}}`).expect(400);
    expect(body).toEqual({ error: 'the request body has too many values' });
    await push(`{"deviceId":"d","baseCursor":0,"changes":[],"undeclared":${values}}`).expect(400);
    const full = Array.from({ length: 1000 }, (_, i) => ({ encryptedPath: `p${i}`, action: 'delete' }));
    await push(JSON.stringify({ deviceId: 'd', baseCursor: 0, changes: full })).expect(200);
  });

  itDeep('purges many deleted workspaces one at a time', async () => {
    const alice = await service.user('alice');
    const purge = service.app.get(WorkspacePurge);
    let underWay = 0;
    let most = 0;
    purge.addStep(async () => {
      most = Math.max(most, ++underWay);
      await new Promise(setImmediate);
      underWay--;
      return 0;
    });
    const workspaces = await Promise.all(Array.from({ length: 20 }, () => alice.workspace()));
    await Promise.all(workspaces.map((workspace) => alice.delete(workspace.path).expect(200)));
    await purge.idle();
    expect(most).toBe(1);
    expect(await service.database.query('SELECT id FROM workspaces')).toEqual([]);
  });

  itDeep('answers 503 with Retry-After when the database becomes read-only', async () => {
    const alice = await service.user('alice');
    const workspace = await alice.workspace();
    const readOnly = (value: string): Promise<unknown> =>
      service.database.query(
        `ALTER ROLE CURRENT_USER IN DATABASE ${service.database.name} SET default_transaction_read_only = ${value}`,
      );
    await readOnly('on');
    await service.database.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'cloud-sync-service'`,
    );
    const { headers, body } = await workspace.put('path', 'content').expect(503);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(body).toEqual({ error: expect.any(String) });
  });
});

describe('requests whose bodies never arrive', () => {
  const MOST = 250;
  let service: TestService;
  let sockets: Socket[];
  beforeEach(async () => {
    sockets = [];
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: '10000' } });
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await service.close();
  });

  const underWay = (): number => service.app.get(InFlightRequests).count;

  async function begin(open: () => Socket): Promise<void> {
    await eventually(() => {
      sockets = sockets.filter(({ closed }) => !closed); // on a slow machine some are refused or time out
      while (sockets.length < MOST)
        sockets.push(
          open()
            .on('error', () => undefined)
            .resume(),
        );
      expect(underWay()).toBe(MOST);
    });
  }

  async function expectTooMany(request: () => supertest.Test): Promise<void> {
    const { headers, body } = await eventually(() => request().expect(429));
    expect([headers['retry-after'], body]).toEqual(['1', { error: 'too many requests' }]);
  }

  it('fill the slots of one user, who gets 429 until one ends; other users are served', async () => {
    const [alice, bob] = [await service.user('alice'), await service.user('bob')];
    const workspace = await alice.workspace();
    await begin(() => unfinishedUpload(service.url, workspace, 'c2xvdw'));
    await expectTooMany(() => alice.get('/api/v1/workspaces'));
    await bob.get('/api/v1/workspaces').expect(200);
    await supertest(service.url).get('/api/auth/jwks').expect(200);

    sockets.pop()!.destroy();
    await eventually(() => alice.get('/api/v1/workspaces').expect(200));
  });

  itDeep('fill the slots of an address when the caller is unknown', async () => {
    const alice = await service.user('alice');
    const head = headOf('POST', '/api/auth/sign-out', { Host: 'x', 'Content-Length': '200' });
    await begin(() => {
      const socket = openSocket(service.url);
      socket.write(head);
      return socket;
    });
    await expectTooMany(() => supertest(service.url).get('/api/auth/jwks'));
    await alice.get('/api/v1/workspaces').expect(200);
    await supertest(service.url).get('/health').expect(200);

    sockets.pop()!.destroy();
    await eventually(() => supertest(service.url).get('/api/auth/jwks').expect(200));
  });
});

describe('the service behind a proxy', () => {
  let service: TestService;
  const open: Socket[] = [];
  beforeAll(async () => {
    const env = { TRUST_PROXY: 'true', RATE_LIMIT_PER_MINUTE: '10000', DATABASE_POOL_SIZE: '2' };
    service = await startService({ env });
  });
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await service.close();
  });

  itDeep('refuses the network that exceeds its share first while the database is slow', async () => {
    const [hostile, victim] = [await service.user('hostile'), await service.user('victim')];
    const from = (ip: string, user: TestUser): supertest.Test =>
      user
        .get('/api/v1/subscription')
        .set('X-Forwarded-For', ip)
        .ok(() => true);
    const held = await holdTable(service.database, 'subscriptions');
    const answers = Array.from({ length: 80 }, (_, n) =>
      from(`2001:db8:0:${n}::1`, hostile).then(() => undefined),
    );
    await eventually(() => expect(service.app.get(Database).waiting).toBeGreaterThan(50));
    const own = from('203.0.113.1', victim).then(({ status }) => status);
    const { status, body } = await from('2001:db8:0:abc::1', hostile);
    expect([status, body]).toEqual([503, { error: 'the service is overloaded' }]);
    await held.release();
    expect(await own).toBe(200);
    await Promise.all(answers);
  });

  itDeep('allows unknown clients of one network 500 requests at once over all its addresses', async () => {
    const head = (ip: string): Buffer =>
      headOf('POST', '/api/auth/sign-out', { Host: 'x', 'Content-Length': '200', 'X-Forwarded-For': ip });
    for (let n = 0; n < 500; n++) {
      const socket = openSocket(service.url);
      open.push(socket);
      socket.write(head(`2001:db8:1:${n % 10}::1`));
    }
    await eventually(() => expect(service.app.get(InFlightRequests).count).toBe(500));
    const keys = (ip: string): supertest.Test =>
      supertest(service.url).get('/api/auth/jwks').set('X-Forwarded-For', ip);
    await eventually(() => keys('2001:db8:1:abc::1').expect(429));
    await keys('2001:db8:2::1').expect(200);
  });
});

describe('POST /api/auth/sign-up/email', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  itDeep.each([
    ['an email longer than 254 characters', { email: `${'a'.repeat(60)}@${'b'.repeat(200)}.org`, name: 'A' }],
    ['an email of thousands of characters', { email: `a@${'b.'.repeat(4000)}org`, name: 'A' }],
    ['a name of thousands of characters', { email: 'long@example.org', name: 'a'.repeat(60_000) }],
    ['a name with control characters', { email: 'control@example.org', name: 'a\u0007b' }],
  ])('refuses %s with 400 and stores nothing', async (_, { email, name }) => {
    const { status } = await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .send({ email, name, password: 'a long password' });
    expect(status).toBe(400);
    expect(await service.database.query('SELECT id FROM users WHERE email = $1', [email])).toEqual([]);
  });
});
