import { randomUUID } from 'node:crypto';
import { Database } from '../../../src/platform/database/index.js';
import { JobLock, NightlyTimes } from '../../../src/platform/jobs/nightly-jobs.js';
import { type JobRun, JobRuns, NightlyJobs, NightlySchedule } from '../../../src/platform/jobs/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { writeLog, writeUser } from '../../kit/histories.js';
import { itDeep } from '../../kit/rounds.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

let first: TestService;
let second: TestService;
beforeAll(async () => {
  first = await startService();
  second = await startService({ beside: first });
});
afterAll(async () => {
  await second.close();
  await first.close();
});
beforeEach(() => first.database.query('TRUNCATE job_runs, retention_progress'));

const jobsOf = ({ app }: TestService): NightlyJobs => app.get(NightlyJobs);
const runs = (): Promise<JobRun[]> => first.app.get(JobRuns).recent(1_000);
const runsOf = async (name: string): Promise<JobRun[]> => (await runs()).filter((run) => run.name === name);

describe('the nightly jobs', () => {
  const NAMES = [
    ...['retention', 'blobs', 'workspaces', 'subscriptions', 'payment-events', 'cancellations'],
    ...['idempotency-keys', 'one-time-tokens', 'sessions', 'ended-sessions', 'presence', 'rate-limits'],
    ...['wrong-passwords', 'known-networks', 'audit-events', 'invitations'],
  ];

  it('leave a row each: when it began and ended, and its counts', async () => {
    await jobsOf(first).run();
    const rows = await runs();
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(NAMES));
    expect(names.at(-1)).toBe('nightly');
    for (const row of rows)
      expect(row).toMatchObject({ startedAt: expect.any(Date), endedAt: expect.any(Date), error: null });
    expect((await runsOf('nightly'))[0]!.counts).toEqual({ jobs: rows.length - 1, failed: 0 });
    const zero = { versions: 0, blobs: 0, bytes: 0, failed: 0, longestLockMs: 0 };
    expect((await runsOf('retention'))[0]!.counts).toEqual(zero);
  });

  it('continue after a failed one, whose row gives the reason without a secret', async () => {
    const fails = jest.spyOn(first.app.get(Retention), 'runDue');
    fails.mockRejectedValueOnce(
      new Error('no answer from postgres://sync:hunter2@db.example/sync?password=hunter2'),
    );
    await jobsOf(first).run();
    const [retention] = await runsOf('retention');
    expect(retention!.error).toMatch(/^Error: no answer from postgres:\/\/\[redacted\]@db\.example/);
    expect(JSON.stringify(await runs())).not.toContain('hunter2');
    expect((await runsOf('nightly'))[0]!.counts).toMatchObject({ failed: 1 });
    expect((await runsOf('blobs'))[0]!.error).toBeNull();
    fails.mockRestore();
  });

  it('continue when the row of one cannot be written', async () => {
    const book = first.app.get(JobRuns);
    const begin = book.begin.bind(book);
    book.begin = (name, now) =>
      name === 'retention' ? Promise.reject(new Error('the database was away')) : begin(name, now);
    await jobsOf(first).run();
    book.begin = begin;
    expect(await runsOf('retention')).toEqual([]);
    expect(await runsOf('rate-limits')).toHaveLength(1);
    expect((await runsOf('nightly'))[0]).toMatchObject({ counts: { failed: 1 }, error: null });
  });

  it('run once a night, even when two instances wake up for them, and again the next night', async () => {
    const wakeUp = (): Promise<unknown> =>
      Promise.all([first, second, first, second].map(({ app }) => app.get(NightlySchedule).runIfDue()));
    await wakeUp();
    expect(await runsOf('nightly')).toHaveLength(1);
    first.clock.advance(DAY);
    await wakeUp();
    expect(await runsOf('nightly')).toHaveLength(2);
    expect(await runsOf('retention')).toHaveLength(2);
  });

  it('never run twice at the same time', async () => {
    let underWay = 0;
    let most = 0;
    for (const service of [first, second]) {
      jobsOf(service).add(`counting ${service.url}`, async () => {
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setTimeout(resolve, 20));
        underWay--;
        return {};
      });
    }
    await Promise.all([first, second, first, second].map((service) => jobsOf(service).run()));
    expect(most).toBe(1);
    expect(await runsOf('nightly')).toHaveLength(4);
  });

  it('run at a start after a missed night, but not when they have never run', async () => {
    const schedule = first.app.get(NightlySchedule);
    await schedule.catchUp();
    expect(await runsOf('nightly')).toHaveLength(0);
    await schedule.runIfDue();
    await schedule.catchUp();
    expect(await runsOf('nightly')).toHaveLength(1);
    first.clock.advance(3 * DAY);
    await schedule.catchUp();
    expect(await runsOf('nightly')).toHaveLength(2);
  });

  it('run again after a clock that was a year ahead is corrected', async () => {
    const ahead = new Date(first.clock.now().getTime() + 365 * DAY);
    await first.database.query(
      `INSERT INTO job_runs (name, started_at, ended_at) VALUES ('nightly', $1, $1)`,
      [ahead],
    );
    await first.app.get(NightlySchedule).runIfDue();
    expect(await runsOf('nightly')).toHaveLength(2);
  });

  it('are skipped while the kill switch is not off', async () => {
    const killSwitch = first.app.get(KillSwitch);
    await killSwitch.set('read-only');
    await eventually(() => expect(killSwitch.mode).toBe('read-only'));
    await first.app.get(NightlySchedule).runIfDue();
    expect(await runs()).toEqual([]);
    await killSwitch.set('off');
    await eventually(() => expect(killSwitch.mode).toBe('off'));
  });

  it('keep the rows of the last hundred runs of each, and mark runs whose process died', async () => {
    await first.database.query(
      `INSERT INTO job_runs (name, started_at) SELECT name, now()
       FROM unnest(ARRAY['of another', 'sessions']) WITH ORDINALITY AS u (name, place), generate_series(1, 150) ORDER BY place`,
    );
    await jobsOf(first).run();
    const sessions = await runsOf('sessions');
    expect(sessions).toHaveLength(100);
    expect(sessions.slice(1).every(({ endedAt, error }) => endedAt === null && error !== null)).toBe(true);
    expect(sessions[0]).toMatchObject({ endedAt: expect.any(Date), error: null });
    expect(await runsOf('of another')).toHaveLength(150);
  });

  it('have the same result when the lock is lost and two instances run them at once', async () => {
    const free = (service: TestService): unknown =>
      jest.spyOn(service.app.get(JobLock), 'hold').mockImplementation((stop, _, work) => work(stop));
    free(first);
    free(second);
    await writeExpired();
    await Promise.all([jobsOf(first).run(), jobsOf(second).run()]);
    jest.restoreAllMocks();
    const removed = (await runsOf('sessions')).map(({ counts }) => counts['removed'] as number);
    expect(removed.reduce((a, b) => a + b)).toBe(1_500);
    expect((await runs()).filter(({ error }) => error !== null)).toEqual([]);
    await expectExpiredGone();
  });
});

describe('a run that waits for the job lock', () => {
  it('gives up when it is stopped', async () => {
    const lock = first.app.get(JobLock);
    let letGo = (): void => undefined;
    const work = new Promise<void>((resolve) => (letGo = resolve));
    await new Promise<void>((isHeld) => {
      void lock.hold(new AbortController().signal, true, () => {
        isHeld();
        return work;
      });
    });
    const late = lock.hold(AbortSignal.abort(), true, () => Promise.resolve('ran'));
    expect(await late).toBeUndefined();
    letGo();
  });
});

describe('the nightly jobs remove expired rows and keep others:', () => {
  it('sessions, one-time tokens, counters of the rate limits and dead instances', async () => {
    await writeExpired();
    await jobsOf(first).run();
    await expectExpiredGone();
  });
});

describe('the nightly jobs also', () => {
  const { query } = { query: (sql: string, values: unknown[] = []) => first.database.query(sql, values) };
  const ago = (ms: number): Date => new Date(first.clock.now().getTime() - ms);
  const countsOf = async (name: string): Promise<unknown> => (await runsOf(name))[0]!.counts;

  it('remove events of the audit log after 400 days, and invitations when they expire', async () => {
    const event = `INSERT INTO audit_events (at, user_id, action, actor) VALUES ($1, $2, 'password.changed', 'user')`;
    const user = '00000000-0000-4000-8000-000000000001';
    const kept = ago(400 * DAY - HOUR);
    for (const at of [ago(400 * DAY + 1), kept]) await query(event, [at, user]);
    const invitation = `INSERT INTO invitations VALUES ($1::text, sha256($1::text::bytea), $2, $2)`;
    await query(invitation, ['over@example.org', ago(0)]);
    await query(invitation, ['open@example.org', ago(-HOUR)]);
    await jobsOf(second).run();
    expect(await query('SELECT at FROM audit_events WHERE user_id = $1', [user])).toEqual([{ at: kept }]);
    expect(await query('SELECT email FROM invitations')).toEqual([{ email: 'open@example.org' }]);
  });

  it('empty deleted workspaces that other instances have left', async () => {
    const owner = await writeUser(first.database.query);
    const { workspaceId } = await writeLog(first.database.query, owner, {
      operations: [{ file: 0, action: 'upsert', at: first.clock.now() }],
    });
    await query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [workspaceId]);
    await jobsOf(second).run();
    expect(await countsOf('workspaces')).toEqual({ purged: 1, left: 0 });
    expect(await query('SELECT FROM workspaces WHERE id = $1', [workspaceId])).toEqual([]);
  });

  itDeep(
    'empty every deleted workspace that they can, however many older ones cannot be emptied',
    async () => {
      const owner = await writeUser(first.database.query);
      const write = `WITH w AS (
         INSERT INTO workspaces (id, user_id, name, created_at, updated_at, deleted_at)
         SELECT gen_random_uuid(), $1, 'x', $2, $2, $2 FROM generate_series(1, $3::int) RETURNING id
       )
       INSERT INTO blobs (workspace_id, id, state, location, created_at)
       SELECT id, gen_random_uuid(), 'staged', 'disk', $4 FROM w`;
      // An upload that is under way keeps its workspace's row; one that has died does not.
      await query(write, [owner, ago(2 * DAY), 1_010, ago(0)]);
      await query(write, [owner, ago(DAY), 30, ago(2 * HOUR)]);
      await jobsOf(second).run();
      expect(await countsOf('workspaces')).toEqual({ purged: 30, left: 1_010 });
      await query('TRUNCATE workspaces, blobs, files, versions, changes CASCADE');
    },
  );

  it('remove idempotency keys after 24 hours and payment events after 90 days, and end trials', async () => {
    const owner = await writeUser(first.database.query);
    const { workspaceId } = await writeLog(first.database.query, owner, { operations: [] });
    const key =
      'INSERT INTO asset_idempotency_keys (workspace_id, key, token, created_at) VALUES ($1, $2, $2, $3)';
    await query(key, [workspaceId, 'old', ago(DAY)]);
    await query(key, [workspaceId, 'young', ago(DAY - HOUR)]);
    const event = `INSERT INTO payment_events (event_id, user_id, subscription_id, kind, cause, occurred_at, received_at, fate)
       SELECT $1 || n, $2, 'sub', 'payment_failed', 'x', $3, $3, 'applied' FROM generate_series(1, 3) n`;
    await query(event, ['old', owner, ago(91 * DAY)]);
    await query(event, ['young', owner, ago(89 * DAY)]);
    await query(
      `INSERT INTO subscriptions (user_id, plan, status, trial_start, trial_end, updated_at) VALUES ($1, 'pro', 'trial', $2, $3, now())`,
      [owner, ago(31 * DAY), ago(1)],
    );
    await jobsOf(first).run();
    expect(await countsOf('idempotency-keys')).toEqual({ removed: 1 });
    expect(await query('SELECT key FROM asset_idempotency_keys')).toEqual([{ key: 'young' }]);
    expect(await countsOf('subscriptions')).toEqual({ expired: 1 });
    expect(await countsOf('payment-events')).toEqual({ forgotten: 3 });
  });
});

describe('a run that is cut short', () => {
  /** A job that waits until it is told to stop. */
  function addWaiting(service: TestService, name: string): Promise<void> {
    return new Promise((started) => {
      jobsOf(service).add(name, async (_, signal) => {
        if (signal.aborted || service !== waiting) return { batches: 0 };
        started();
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return { batches: 3 };
      });
    });
  }
  let waiting: TestService | undefined;
  afterEach(() => (waiting = undefined));

  it('ends after its batch when its lock is lost, and its row says so', async () => {
    const started = addWaiting(first, 'waits for its lock');
    waiting = first;
    const run = jobsOf(first).run();
    await started;
    await first.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'cloud-sync-service jobs'`,
    );
    await run;
    const [row] = await runsOf('waits for its lock');
    expect(row).toMatchObject({
      error: 'stopped before its end',
      counts: { batches: 3 },
      endedAt: expect.any(Date),
    });
    expect((await runsOf('nightly'))[0]!.error).toBe('stopped before its end');
  });

  it('ends in the same way at a shutdown, and runs that wait for the lock give up', async () => {
    const third = await startService({ beside: first });
    const fourth = await startService({ beside: first });
    const started = addWaiting(third, 'waits for the shutdown');
    waiting = third;
    const run = jobsOf(third).run();
    await started;
    const next = jobsOf(fourth).run();
    await fourth.close();
    await next;
    await expect(jobsOf(first).runAlone('retention', () => Promise.resolve({}))).rejects.toMatchObject({
      status: 409,
    });
    await third.close();
    await run;
    expect((await runsOf('waits for the shutdown'))[0]).toMatchObject({ error: 'stopped before its end' });
    expect(await runsOf('nightly')).toHaveLength(1);
  });
});

describe('a job that is stopped half-way', () => {
  const { query } = { query: (sql: string, values: unknown[] = []) => first.database.query(sql, values) };

  /** Stops an instance when it has run a statement once. */
  function stopAfter(service: TestService, name: string): void {
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    jest.spyOn(database, 'run').mockImplementation(async (statement, values) => {
      const rows = await run(statement, values);
      if (statement.name === name) jobsOf(service).beforeApplicationShutdown();
      return rows;
    });
  }

  it.each([
    {
      job: 'blobs',
      counted: 'blobs',
      batch: 200,
      untilStatement: 'blobs.remove_rows',
      write: `INSERT INTO blobs (workspace_id, id, state, location, size, bytes, not_before, created_at)
              SELECT $1, gen_random_uuid(), 'dying', 'inline', 1, 'x', '2026-01-01', '2026-01-01' FROM generate_series(1, $2::int)`,
      left: 'SELECT FROM blobs WHERE workspace_id = $1',
    },
    {
      job: 'blobs',
      counted: 'copies',
      batch: 200,
      untilStatement: 'blob_leftovers.remove',
      write: `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before)
              SELECT 'disk', $1, gen_random_uuid(), 'dying', '2026-01-01' FROM generate_series(1, $2::int)`,
      left: 'SELECT FROM blob_leftovers WHERE workspace_id = $1',
    },
    {
      job: 'idempotency-keys',
      counted: 'removed',
      batch: 1_000,
      untilStatement: 'assets.forget_keys',
      write: `INSERT INTO asset_idempotency_keys (workspace_id, key, token, created_at)
              SELECT $1, 'k' || n, 't', '2026-01-01' FROM generate_series(1, $2::int) n`,
      left: 'SELECT FROM asset_idempotency_keys WHERE workspace_id = $1',
    },
    {
      job: 'payment-events',
      counted: 'forgotten',
      batch: 500,
      untilStatement: 'event_log.forget',
      write: `INSERT INTO payment_events (event_id, user_id, subscription_id, kind, cause, occurred_at, received_at, fate)
              SELECT 'e' || n, w.user_id, 's', 'updated', '', '2026-01-01', '2026-01-01', 'ignored'
              FROM workspaces w, generate_series(1, $2::int) n WHERE w.id = $1`,
      left: 'SELECT FROM payment_events e JOIN workspaces w ON w.user_id = e.user_id WHERE w.id = $1',
    },
  ])('$job ($counted) ends with its batch, and the next run does the rest', async (work) => {
    const owner = await writeUser(first.database.query);
    const { workspaceId } = await writeLog(first.database.query, owner, { operations: [] });
    await query(work.write, [workspaceId, 2.5 * work.batch]);
    const stopping = await startService({ beside: first });
    stopAfter(stopping, work.untilStatement);
    await jobsOf(stopping).run();
    const [stopped] = await runsOf(work.job);
    expect(stopped).toMatchObject({
      error: 'stopped before its end',
      counts: { [work.counted]: work.batch },
    });
    expect(await query(work.left, [workspaceId])).toHaveLength(1.5 * work.batch);
    await stopping.close();

    await jobsOf(first).run();
    const [completed] = await runsOf(work.job);
    expect(completed).toMatchObject({ error: null, counts: { [work.counted]: 1.5 * work.batch } });
    expect(await query(work.left, [workspaceId])).toEqual([]);
  });
});

describe('retention with a wrong clock', () => {
  const START = new Date('2026-03-11T12:00:00.000Z');
  const at = (days: number): Date => new Date(START.getTime() + days * DAY);
  const left = async (): Promise<number> => (await first.database.query('SELECT FROM versions')).length;
  let retention: Retention;

  beforeEach(async () => {
    retention = first.app.get(Retention);
    await first.database.query('TRUNCATE checkpoints, changes, versions, files, blobs CASCADE');
    // Every six hours for twenty days, the last one at START.
    const operations = Array.from({ length: 80 }, (_, i) => {
      return { file: 0, action: 'upsert' as const, at: new Date(START.getTime() - (79 - i) * 6 * HOUR) };
    });
    await writeLog(first.database.query, await writeUser(first.database.query), { operations });
  });

  it('trusts the clock in the first run ever', async () => {
    expect((await retention.runDue(at(1))).asOf).toEqual(at(1));
  });

  it('advances by 48 hours only after a jump by a year, and thins what is due by then', async () => {
    await retention.runDue(START);
    const before = await left();
    const report = await retention.runDue(at(365));
    expect(report.asOf).toEqual(at(2));
    // Two more days are older than a week, and lose three of four versions each.
    expect(before - (await left())).toBe(2 * 3);
  });

  it('follows the clock again once it is corrected', async () => {
    await retention.runDue(START);
    await retention.runDue(at(365));
    expect((await retention.runDue(at(1))).asOf).toEqual(at(1));
    expect((await retention.runDue(at(2))).asOf).toEqual(at(2));
  });

  it('catches up within 30 nights after a month off', async () => {
    await retention.runDue(START);
    let night = 30;
    while ((await retention.runDue(at(night))).asOf < at(night)) night++;
    expect(night).toBeLessThan(60);
    const caughtUp = await left();
    await retention.run(at(night));
    expect(await left()).toBe(caughtUp);
  });

  it('accepts a given time, which does not affect the nightly runs', async () => {
    await retention.runDue(START);
    expect((await retention.run(at(365))).asOf).toEqual(at(365));
    expect((await retention.runDue(at(1))).asOf).toEqual(at(1));
  });
});

describe('RETENTION_CRON', () => {
  it('is in UTC', () => {
    const times = new NightlyTimes('0 3 * * *');
    expect(times.after(new Date('2026-11-20T02:59:59.999Z'))).toEqual(new Date('2026-11-20T03:00:00.000Z'));
    expect(times.after(new Date('2026-11-20T03:00:00.000Z'))).toEqual(new Date('2026-11-21T03:00:00.000Z'));
  });
});

async function writeExpired(): Promise<void> {
  const { query } = first.database;
  const user = await writeUser(query);
  const now = first.clock.now();
  const ago = (ms: number): Date => new Date(now.getTime() - ms);
  const sessions = `INSERT INTO auth_sessions (user_id, token, expires_at, updated_at)
     SELECT $1, gen_random_uuid()::text, $2, now() FROM generate_series(1, $3::int)`;
  await query(sessions, [user, ago(0), 1_500]);
  await query(sessions, [user, ago(-HOUR), 2]);
  const tokens = `INSERT INTO auth_verifications (identifier, value, expires_at)
     SELECT 'x', 'x', $1 FROM generate_series(1, $2::int)`;
  await query(tokens, [ago(1), 5]);
  await query(tokens, [ago(-HOUR), 3]);
  await query(`INSERT INTO rate_limits (key, window_start, hits) VALUES ($1, $2, 1), ($3, $4, 1)`, [
    ...[randomUUID(), ago(HOUR), randomUUID(), ago(60_000)],
  ]);
  await query(
    `INSERT INTO instances (id, alive_until) VALUES (gen_random_uuid(), now() - interval '1 hour'), (gen_random_uuid(), now())`,
  );
}

async function expectExpiredGone(): Promise<void> {
  const { query } = first.database;
  const [counts] = await query(
    `SELECT (SELECT count(*)::int FROM auth_sessions) AS sessions, (SELECT count(*)::int FROM auth_verifications) AS tokens,
            (SELECT count(*)::int FROM rate_limits) AS limits, (SELECT count(*)::int FROM instances WHERE alive_until < now()) AS instances`,
  );
  await query('TRUNCATE auth_sessions, auth_verifications, rate_limits, instances CASCADE');
  expect(counts).toEqual({ sessions: 2, tokens: 3, limits: 1, instances: 1 });
}
