import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { createDatabase, DEV_LOGIN_KEY, eventually, type TestDatabase, TestUser } from '../../kit/index.js';
import { deliver, eventOf, WEBHOOK_SECRET } from '../../kit/payment-provider.js';
import { type ServiceProcess, startProcess } from '../../kit/process.js';

interface Line {
  readonly level: string;
  readonly time: string;
  readonly message: string;
  readonly requestId?: string;
  readonly req?: { readonly url: string };
  readonly status?: number;
}

let database: TestDatabase;
let dataDir: string;
let service: ServiceProcess;
beforeAll(async () => {
  database = await createDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'sync-log-'));
  service = await startProcess({
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET,
    AUTH_SECRET: 'a secret of the service of thirty-two characters',
    S3_ENDPIONT: 'https://misspelt.example.org',
    LOG_LEVEL: 'trace',
  });
});
afterAll(async () => {
  await service.end('SIGTERM');
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** The lines of the log, without the banner of a start. */
function lines(): Line[] {
  const texts = service
    .output()
    .split('\n')
    .filter((line) => line !== '' && !/^(?:Cloud Sync Service| {2}\w)/.test(line));
  return texts.map((line) => JSON.parse(line) as Line);
}

describe('the log of a process without a terminal', () => {
  it('is one JSON object a line, each with level, time and message', () => {
    expect(lines().length).toBeGreaterThan(10);
    for (const line of lines())
      expect(line).toMatchObject({
        level: expect.any(String),
        time: expect.any(String),
        message: expect.any(String),
      });
  });

  it('names a misspelt variable once', () => {
    const named = lines().filter(({ message }) => message.includes('S3_ENDPIONT'));
    expect(named).toMatchObject([{ level: 'warn' }]);
    expect(service.output()).not.toContain('misspelt.example.org');
  });

  it('has the id of the request in every line that is written while it is served', async () => {
    const event = eventOf('customer.subscription.updated', new Date(), {
      id: 'sub_unknown',
      object: 'subscription',
      customer: 'cus_unknown',
      status: 'active',
    });
    const { headers } = await deliver(service.url, event, new Date()).expect(200);
    await eventually(() => {
      const own = lines().filter(({ requestId }) => requestId === headers['x-request-id']);
      expect(own.map(({ message }) => message)).toEqual(['payment event', 'request']);
    });
  });

  it('has the id of the request in the line of an unexpected error as well', async () => {
    await database.query('ALTER TABLE users RENAME TO users_away');
    const { headers } = await supertest(service.url)
      .post('/api/v1/auth/dev-login')
      .set('X-Dev-Login-Key', DEV_LOGIN_KEY)
      .send({ email: 'a@example.org', name: 'a' })
      .expect(500);
    await database.query('ALTER TABLE users_away RENAME TO users');
    await eventually(() => {
      const own = lines().filter(({ requestId }) => requestId === headers['x-request-id']);
      expect(own.map(({ level, message }) => [level, message])).toEqual(
        expect.arrayContaining([
          ['error', 'request failed'],
          ['info', 'request'],
        ]),
      );
    });
  });

  it('has failed health checks at level info, and successful ones at level debug only', async () => {
    const levels = (status: number): string[] =>
      lines()
        .filter((line) => line.req?.url === '/health/ready' && line.status === status)
        .map(({ level }) => level);
    await supertest(service.url).get('/health/ready').expect(200);
    await eventually(() => expect(levels(200)).toEqual(['debug']));
    await database.query(`ALTER TABLE migrations RENAME TO migrations_away`);
    try {
      await eventually(() => supertest(service.url).get('/health/ready').expect(503));
      await eventually(() => expect(levels(503)).toEqual(['info']));
    } finally {
      await database.query('ALTER TABLE migrations_away RENAME TO migrations');
    }
  });

  it('contains no secret', async () => {
    const alice = await TestUser.logIn(service.url, 'alice');
    await alice.post('/api/v1/subscription/trial');
    const workspace = await alice.workspace();
    await supertest(service.url).get(`/api/v1/auth/me?token=${alice.token}`).expect(401);
    await workspace.put('YQ', 'the plaintext of a note').expect(201);
    const secrets = [alice.token, DEV_LOGIN_KEY, WEBHOOK_SECRET, 'thirty-two', 'the plaintext'];
    const password = new URL(database.url).password;
    await eventually(() => expect(lines().at(-1)).toMatchObject({ message: 'request' }));
    for (const secret of password === '' ? secrets : [...secrets, password])
      expect(service.output()).not.toContain(secret);
  });
});
