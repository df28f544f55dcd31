import type supertest from 'supertest';
import {
  createDatabase,
  sha256,
  startService,
  type TestService,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';

const SECOND_MS = 1000;
const DAY_MS = 24 * 60 * 60_000;
const NOW = new Date('2026-03-01T12:00:00.000Z');
const FREE = {
  plan: 'free',
  status: 'free',
  trialStartDate: null,
  trialEndDate: null,
  currentPeriodEnd: null,
  cancelAtPeriodEnd: false,
};

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
beforeEach(() => service.clock.stopAt(NOW));

function later(ms: number): Date {
  return new Date(NOW.getTime() + ms);
}

/** Sets the time, and gets a token that is valid then. */
async function at(time: Date, user: TestUser): Promise<TestUser> {
  service.clock.stopAt(time);
  return TestUser.logIn(service.url, user.email.replace('@example.org', ''));
}

interface Row {
  status: string;
  plan?: string;
  trialStart?: Date;
  trialEnd?: Date;
  currentPeriodEnd?: Date;
  pastDueSince?: Date;
  cancelAtPeriodEnd?: boolean;
  /** The payment provider's subscription; undefined for a plan that was granted by hand. */
  subscriptionId?: string;
}

async function subscribe(user: TestUser, row: Row, database = service.database): Promise<void> {
  await database.query('DELETE FROM subscriptions WHERE user_id = $1', [user.id]);
  await database.query(
    `INSERT INTO subscriptions (user_id, plan, status, trial_start, trial_end, current_period_end, past_due_since,
                                cancel_at_period_end, provider_subscription_id, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      ...[user.id, row.plan ?? 'pro', row.status, row.trialStart, row.trialEnd, row.currentPeriodEnd],
      ...[row.pastDueSince, row.cancelAtPeriodEnd ?? false, row.subscriptionId, NOW],
    ],
  );
}

async function info(user: TestUser): Promise<unknown> {
  return (await user.get('/api/v1/subscription').expect(200)).body;
}

/** Whether the user passes the check for a subscription, found by a request that changes nothing. */
async function isActive(user: TestUser): Promise<boolean> {
  const { status } = await user.post('/api/v1/workspaces').send({ name: '' });
  expect([400, 402]).toContain(status);
  return status === 400;
}

describe('GET /api/v1/subscription', () => {
  it('is the free plan for a user who never had another', async () => {
    expect(await info(await service.newcomer('free-info'))).toEqual(FREE);
  });

  it('returns every field of a paid subscription', async () => {
    const alice = await service.newcomer('paid-info');
    const trial = { trialStart: later(-60 * DAY_MS), trialEnd: later(-30 * DAY_MS) };
    const currentPeriodEnd = later(9 * DAY_MS);
    await subscribe(alice, {
      status: 'active',
      plan: 'team',
      currentPeriodEnd,
      cancelAtPeriodEnd: true,
      ...trial,
    });
    expect(await info(alice)).toEqual({
      plan: 'team',
      status: 'active',
      trialStartDate: trial.trialStart.toISOString(),
      trialEndDate: trial.trialEnd.toISOString(),
      currentPeriodEnd: currentPeriodEnd.toISOString(),
      cancelAtPeriodEnd: true,
    });
  });

  it('needs a bearer', async () => {
    const alice = await service.newcomer('info-401');
    expect((await alice.at(service.url, 'none').get('/api/v1/subscription')).status).toBe(401);
    expect((await alice.at(service.url, 'none').post('/api/v1/subscription/trial')).status).toBe(401);
  });
});

describe('POST /api/v1/subscription/trial', () => {
  const TRIAL = {
    plan: 'pro',
    status: 'trial',
    trialStartDate: NOW.toISOString(),
    trialEndDate: later(30 * DAY_MS).toISOString(),
    currentPeriodEnd: null,
    cancelAtPeriodEnd: false,
  };

  it('starts thirty days of pro', async () => {
    const alice = await service.newcomer('trial-start');
    const { body } = await alice.post('/api/v1/subscription/trial').expect(200);
    expect(body).toEqual(TRIAL);
    expect(await info(alice)).toEqual(TRIAL);
  });

  it('returns the running trial when repeated, without prolonging it', async () => {
    const alice = await service.newcomer('trial-again');
    await alice.post('/api/v1/subscription/trial').expect(200);
    const still = await at(later(30 * DAY_MS - 1), alice);
    expect((await still.post('/api/v1/subscription/trial').expect(200)).body).toEqual(TRIAL);
  });

  it('is 409 once the trial has ended: each user has one', async () => {
    const alice = await service.newcomer('trial-over');
    await alice.post('/api/v1/subscription/trial').expect(200);
    const over = await at(later(30 * DAY_MS), alice);
    const { body } = await over.post('/api/v1/subscription/trial').expect(409);
    expect(body).toEqual({ error: expect.any(String) });
    expect(await info(over)).toEqual({ ...TRIAL, status: 'expired' });
  });

  it('starts one trial for ten concurrent requests', async () => {
    const alice = await service.newcomer('trial-crowd');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => alice.post('/api/v1/subscription/trial').expect(200)),
    );
    for (const { body } of answers) expect(body).toEqual(TRIAL);
    expect(
      await service.database.query('SELECT FROM subscriptions WHERE user_id = $1', [alice.id]),
    ).toHaveLength(1);
  });

  it('starts from a free row without a trial', async () => {
    const alice = await service.newcomer('trial-free-row');
    await subscribe(alice, { status: 'free', plan: 'free' });
    expect((await alice.post('/api/v1/subscription/trial').expect(200)).body).toEqual(TRIAL);
  });

  it.each<[string, Row]>([
    ['active', { status: 'active' }],
    ['past_due', { status: 'past_due', pastDueSince: NOW }],
    ['cancelled', { status: 'cancelled' }],
    ['expired', { status: 'expired', trialStart: later(-40 * DAY_MS), trialEnd: later(-10 * DAY_MS) }],
    [
      'free after a trial',
      { status: 'free', trialStart: later(-40 * DAY_MS), trialEnd: later(-10 * DAY_MS) },
    ],
  ])('is 409 and changes nothing from %s', async (name, row) => {
    const alice = await service.newcomer(`trial-from-${name.replaceAll(' ', '-')}`);
    await subscribe(alice, row);
    const before = await info(alice);
    await alice.post('/api/v1/subscription/trial').expect(409);
    expect(await info(alice)).toEqual(before);
  });
});

describe('402', () => {
  /** Every route that needs a subscription, each with a request that would otherwise succeed. */
  const needing: [string, (workspace: TestWorkspace) => supertest.Test][] = [
    ['POST /workspaces', ({ user }) => user.post('/api/v1/workspaces').send({ name: 'more' })],
    ['PUT file', (workspace) => workspace.put('bmV3', 'new')],
    ['DELETE file', (workspace) => workspace.delete('a2VwdA')],
    ['GET status', ({ user, path }) => user.get(`${path}/sync/status`)],
    ['GET snapshot', (workspace) => workspace.snapshot()],
    ['POST push', (workspace) => workspace.push(0, ['a2VwdA'])],
    ['POST pull', (workspace) => workspace.pull(0)],
  ];

  /** A workspace with one file, made during a trial. */
  async function workspaceOf(name: string): Promise<TestWorkspace> {
    const workspace = await (await service.user(name)).workspace();
    await workspace.put('a2VwdA', 'kept').expect(201);
    return workspace;
  }

  it.each(needing)(
    'applies to %s before the trial and after its end, and not during it',
    async (name, request) => {
      const workspace = await workspaceOf(`402-${name.replaceAll(/\W+/g, '-')}`);
      const alice = workspace.user;
      const rows = await service.database.query(
        'DELETE FROM subscriptions WHERE user_id = $1 RETURNING trial_start, trial_end',
        [alice.id],
      );
      const before = await request(workspace);
      expect({ status: before.status, body: before.body }).toEqual({
        status: 402,
        body: { error: 'an active subscription is required' },
      });

      await subscribe(alice, { status: 'trial', trialStart: NOW, trialEnd: rows[0]!.trial_end as Date });
      const over = workspace.as(await at(later(30 * DAY_MS), alice));
      expect((await request(over)).status).toBe(402);

      const during = workspace.as(await at(later(30 * DAY_MS - 1), alice));
      const { cursor } = await during.status();
      expect(cursor).toBe(1); // the refused requests have changed nothing
      expect((await request(during)).status).toBeLessThan(300);
    },
  );

  it('comes before 404 and 400, and after 401', async () => {
    const alice = await service.newcomer('402-order');
    const nowhere = '/api/v1/workspaces/00000000-0000-7000-8000-000000000000';
    await alice.at(service.url, 'none').post('/api/v1/workspaces').send({}).expect(401);
    await alice.post('/api/v1/workspaces').send({}).expect(402);
    await alice.post('/api/v1/workspaces').set('Content-Type', 'application/json').send('{').expect(402);
    await alice.put(`${nowhere}/files/a`).expect(402);
    await alice.put('/api/v1/workspaces/no-uuid/files/=').expect(402);
    await alice.post(`${nowhere}/sync/push`).send({}).expect(402);
  });

  it('does not apply to reading, set-up and deletion', async () => {
    const workspace = await workspaceOf('402-open');
    const { user: alice, path } = workspace;
    await service.database.query('DELETE FROM subscriptions WHERE user_id = $1', [alice.id]);

    await alice.get('/api/v1/workspaces').expect(200);
    await alice.get(path).expect(200);
    await alice.get(`${path}/files`).expect(200);
    expect((await workspace.get('a2VwdA').expect(200)).body).toEqual(Buffer.from('kept'));
    const hash = sha256('x');
    const encryption = { encryptionSalt: hash, verificationHash: hash, verificationSalt: hash };
    await alice.post(`${path}/setup-encryption`).send(encryption).expect(200);
    await alice.post(`${path}/verify-password`).send({ verificationHash: hash }).expect(200, { valid: true });
    await alice.get('/api/v1/auth/me').expect(200);
    await alice.delete(path).expect(200);
  });
});

describe('a status', () => {
  const cases: [string, Row, boolean, Date?][] = [
    ['free', { status: 'free', plan: 'free' }, false],
    [
      'trial, a millisecond before its end',
      { status: 'trial', trialStart: NOW, trialEnd: later(DAY_MS) },
      true,
      later(DAY_MS - 1),
    ],
    ['trial at its end', { status: 'trial', trialStart: NOW, trialEnd: later(DAY_MS) }, false, later(DAY_MS)],
    [
      'trial, a millisecond after',
      { status: 'trial', trialStart: NOW, trialEnd: later(DAY_MS) },
      false,
      later(DAY_MS + 1),
    ],
    ['active', { status: 'active', currentPeriodEnd: later(DAY_MS) }, true],
    ['active without a period', { status: 'active' }, true],
    [
      'active with a period that has ended',
      { status: 'active', currentPeriodEnd: later(-DAY_MS), subscriptionId: 'sub_1' },
      true,
    ],
    [
      'active by hand, a millisecond before its end',
      { status: 'active', currentPeriodEnd: later(DAY_MS) },
      true,
      later(DAY_MS - 1),
    ],
    [
      'active by hand, at its end',
      { status: 'active', currentPeriodEnd: later(DAY_MS) },
      false,
      later(DAY_MS),
    ],
    ['past_due since now', { status: 'past_due', pastDueSince: NOW }, true],
    [
      'past_due, a millisecond before seven days',
      { status: 'past_due', pastDueSince: NOW },
      true,
      later(7 * DAY_MS - 1),
    ],
    ['past_due for seven days', { status: 'past_due', pastDueSince: NOW }, false, later(7 * DAY_MS)],
    [
      'past_due, a millisecond after',
      { status: 'past_due', pastDueSince: NOW },
      false,
      later(7 * DAY_MS + 1),
    ],
    [
      'cancelled, a millisecond before the period end',
      { status: 'cancelled', currentPeriodEnd: later(DAY_MS) },
      true,
      later(DAY_MS - 1),
    ],
    [
      'cancelled at the period end',
      { status: 'cancelled', currentPeriodEnd: later(DAY_MS) },
      false,
      later(DAY_MS),
    ],
    [
      'cancelled, a millisecond after',
      { status: 'cancelled', currentPeriodEnd: later(DAY_MS) },
      false,
      later(DAY_MS + 1),
    ],
    ['cancelled without a period', { status: 'cancelled' }, false],
    ['expired', { status: 'expired', trialStart: later(-DAY_MS), trialEnd: later(DAY_MS) }, false],
    ['expired with a period ahead', { status: 'expired', currentPeriodEnd: later(DAY_MS) }, false],
  ];

  it.each(cases)('decides whether the user is active: %s', async (name, row, expected, time = NOW) => {
    const alice = await service.newcomer(`status-${name.replaceAll(/\W+/g, '-')}`);
    await subscribe(alice, row);
    const then = await at(time, alice);
    expect(await isActive(then)).toBe(expected);

    const hasRunOut = ['trial', 'active'].includes(row.status) && !expected;
    expect(await info(then)).toEqual({
      plan: row.plan ?? 'pro',
      status: hasRunOut ? 'expired' : row.status,
      trialStartDate: row.trialStart?.toISOString() ?? null,
      trialEndDate: row.trialEnd?.toISOString() ?? null,
      currentPeriodEnd: row.currentPeriodEnd?.toISOString() ?? null,
      cancelAtPeriodEnd: false,
    });
  });
});

describe('the grace of past_due', () => {
  it('lasts seven times 24 hours, also when the database changes to summer time meanwhile', async () => {
    const database = await createDatabase();
    await database.query(`ALTER DATABASE ${database.name} SET timezone = 'Europe/Berlin'`);
    const berlin = await startService({ env: { DATABASE_URL: database.url } });
    try {
      const since = new Date('2026-03-28T12:00:00.000Z'); // clocks go forward in the following night
      berlin.clock.stopAt(new Date(since.getTime() + 7 * DAY_MS - SECOND_MS));
      const alice = await berlin.newcomer('alice');
      await subscribe(alice, { status: 'past_due', pastDueSince: since }, database);
      expect(await isActive(alice)).toBe(true);
      berlin.clock.advance(SECOND_MS);
      expect(await isActive(alice)).toBe(false);
    } finally {
      await berlin.close();
      await database.drop();
    }
  });

  it('does not exist with BILLING_GRACE_DAYS=0', async () => {
    const strict = await startService({ beside: service, env: { BILLING_GRACE_DAYS: '0' } });
    try {
      const alice = await strict.newcomer('no-grace');
      await subscribe(alice, { status: 'past_due', pastDueSince: NOW });
      expect(await isActive(alice)).toBe(false);
      expect(await isActive(alice.at(service.url))).toBe(true);
    } finally {
      await strict.close();
    }
  });
});

describe('with SUBSCRIPTIONS=off', () => {
  let selfHosted: TestService;
  beforeAll(async () => {
    selfHosted = await startService({ beside: service, env: { SUBSCRIPTIONS: 'off' } });
  });
  afterAll(() => selfHosted.close());

  it('every user is active, including one whose trial has ended', async () => {
    const alice = await selfHosted.newcomer('off-alice');
    const workspace = await alice.workspace();
    await workspace.put('YQ', 'a').expect(201);
    expect(await info(alice)).toEqual({ ...FREE, plan: 'pro', status: 'active' });

    await subscribe(alice, { status: 'expired' });
    await workspace.put('Yg', 'b').expect(201);
    expect(await info(alice)).toEqual({ ...FREE, plan: 'pro', status: 'active' });
  });

  it('no trial can be started, and none is used up', async () => {
    const alice = await selfHosted.newcomer('off-trial');
    await alice.post('/api/v1/subscription/trial').expect(409);
    expect(await service.database.query('SELECT FROM subscriptions WHERE user_id = $1', [alice.id])).toEqual(
      [],
    );
  });
});
