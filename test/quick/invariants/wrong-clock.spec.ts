import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { IdempotencyKeys } from '../../../src/domain/assets/asset-uploads.js';
import { EndedKeySessions } from '../../../src/domain/automation/key-sessions.service.js';
import { BlobUpkeep } from '../../../src/platform/storage/index.js';
import { NightlyJobs, NightlySchedule, TrustedTime } from '../../../src/platform/jobs/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { BASE_URL, startService, type TestService, type TestUser } from '../../kit/index.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

let service: TestService;
let user: TestUser;
let session: string;
beforeAll(async () => {
  service = await startService();
  user = await service.user('ann');
  const account = { email: 'ben@example.org', password: 'correct horse battery staple' };
  const signUp = supertest(service.url).post('/api/auth/sign-up/email').set('Origin', BASE_URL);
  session = (await signUp.send({ ...account, name: 'ben' }).expect(200)).body.token;
  const notes = await user.workspace();
  const query = (sql: string): Promise<unknown> => service.database.query(sql, [notes.id]);
  await query(
    `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at, not_before)
     VALUES ($1, '${randomUUID()}', 'dying', 'inline', 0, repeat('0', 64), '', now(), now() + interval '1 day')`,
  );
  await query(
    `INSERT INTO auth_verifications (id, identifier, value, expires_at)
     VALUES (gen_random_uuid(), 'one-time-token:x', $1::text, now() + interval '3 minutes')`,
  );
  await service.database.query(
    `INSERT INTO rate_limits (key, window_start, hits) VALUES ('x', date_trunc('minute', now()), 1)`,
  );
});
afterAll(() => service.close());
beforeEach(() => service.database.query('DELETE FROM trusted_time'));
afterEach(() => service.clock.setWrongBy(0));

/** Runs all jobs that the service starts by itself within a day of its start. */
async function doEverything({ app }: TestService): Promise<void> {
  await app.get(NightlySchedule).catchUp();
  await app.get(NightlySchedule).runIfDue();
  await app.get(NightlyJobs).run();
  await app.get(BlobUpkeep).sweepNow();
  await app.get(EndedKeySessions, { strict: false }).forget();
  await app.get(IdempotencyKeys, { strict: false }).forgetNow();
  await app.get(WorkspacePurge).resume();
}

const timeOf = ({ app }: TestService): Promise<Date> => app.get(TrustedTime).now();

/** Starts another service on the same data, as after the machine was switched on. */
async function withNewStart<T>(work: (started: TestService) => Promise<T>): Promise<T> {
  const started = await startService({ beside: service });
  try {
    return await work(started);
  } finally {
    await started.close();
  }
}

/** Bookkeeping of the jobs and the list of instances, which change in any case. */
const OWN_TABLES = ['job_runs', 'retention_progress', 'trusted_time', 'instances'];

async function changesMadeBy(work: () => Promise<unknown>): Promise<string[]> {
  const before = await checksums(service.database);
  await work();
  return changedTables(before, await checksums(service.database)).filter(
    (name) => !OWN_TABLES.includes(name),
  );
}

describe('a clock that is 40 days ahead', () => {
  it('ends and removes nothing at a start', async () => {
    await timeOf(service);
    service.clock.setWrongBy(40 * DAY);
    expect(await changesMadeBy(() => withNewStart(doEverything))).toEqual([]);
    service.clock.setWrongBy(0);
    const { body } = await user.get('/api/v1/subscription').expect(200);
    expect(body).toMatchObject({ status: 'trial' });
  });

  it('ends and removes nothing while the service runs', async () => {
    await timeOf(service);
    service.clock.setWrongBy(40 * DAY);
    expect(await changesMadeBy(() => doEverything(service))).toEqual([]);
  });

  it('does not remove a session that is used meanwhile', async () => {
    // The identity library reads the machine's clock, so the session's end is moved instead.
    const age = (days: number) =>
      service.database.query(`UPDATE auth_sessions SET expires_at = expires_at + $1 * interval '1 day'`, [
        days,
      ]);
    const look = async (): Promise<unknown> => {
      const asked = supertest(service.url).get('/api/auth/get-session').set('Origin', BASE_URL);
      return (await asked.set('Authorization', `Bearer ${session}`).expect(200)).body;
    };
    await age(-40);
    expect(await changesMadeBy(async () => expect(await look()).toBeNull())).toEqual([]);
    await age(40);
    expect(await look()).toMatchObject({ user: { email: 'ben@example.org' } });
  });

  it('is logged once, and the trusted time does not follow it', async () => {
    const before = await timeOf(service);
    service.clock.setWrongBy(40 * DAY);
    await withNewStart(async (started) => {
      for (let i = 0; i < 3; i++)
        expect((await timeOf(started)).getTime() - before.getTime()).toBeLessThan(HOUR);
      expect(started.logged().split('the clock is far ahead').length - 1).toBe(1);
    });
  });

  it('has no effect once it is corrected', async () => {
    await timeOf(service);
    service.clock.setWrongBy(40 * DAY);
    await withNewStart(timeOf);
    service.clock.setWrongBy(0);
    expect(await timeOf(service)).toEqual(expectNear(service));
  });
});

describe('the trusted time', () => {
  it('follows the clock after two days without power', async () => {
    await timeOf(service);
    service.clock.setWrongBy(47 * HOUR);
    await withNewStart(async (started) => expect(await timeOf(started)).toEqual(expectNear(started)));
  });

  it('follows the clock again a day after the first start that follows a month without power', async () => {
    const before = await timeOf(service);
    for (const hours of [720, 730, 743]) {
      service.clock.setWrongBy(hours * HOUR);
      const now = await withNewStart(timeOf);
      expect(now.getTime() - before.getTime()).toBeLessThan(HOUR);
    }
    service.clock.setWrongBy(745 * HOUR);
    await withNewStart(async (started) => expect(await timeOf(started)).toEqual(expectNear(started)));
  });

  it('does not follow a clock that is wrong by 40 days at one start and by 90 at the next', async () => {
    const before = await timeOf(service);
    for (const days of [40, 90]) {
      service.clock.setWrongBy(days * DAY);
      const now = await withNewStart(timeOf);
      expect(now.getTime() - before.getTime()).toBeLessThan(HOUR);
    }
  });

  it('follows the clock while the service runs, however long', async () => {
    await timeOf(service);
    service.clock.advance(40 * DAY);
    expect(await timeOf(service)).toEqual(expectNear(service));
    service.clock.advance(-40 * DAY);
  });

  it('is never ahead of a clock that is behind', async () => {
    await timeOf(service);
    service.clock.setWrongBy(-400 * DAY);
    await withNewStart(async (started) => expect(await timeOf(started)).toEqual(expectNear(started)));
  });
});

/** The clock of a service, to a minute. */
function expectNear({ clock }: TestService): Date {
  const now = clock.now().getTime();
  return {
    asymmetricMatch: (time: Date) => Math.abs(time.getTime() - now) < 60_000,
    toString: () => 'near',
  } as unknown as Date;
}
