import { getRepositoryToken } from '@nestjs/typeorm';
import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { Users } from '../../../src/domain/auth/index.js';
import { loadConfiguration } from '../../../src/platform/config/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { TooManyRequests } from '../../../src/platform/http/api-errors.js';
import { PostgresHitCounter, RateLimit } from '../../../src/platform/limits/rate-limiter.js';
import { addressKey } from '../../../src/platform/http/index.js';
import { RateLimiter } from '../../../src/platform/limits/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { Log } from '../../../src/platform/log.js';
import {
  BASE_URL,
  DEV_LOGIN_KEY,
  sha256,
  startService,
  type TestService,
  type TestUser,
} from '../../kit/index.js';
import { MovableClock } from '../../kit/movable-clock.js';
import { type RawAnswer, sendRaw } from '../../kit/raw-http.js';
import { describeDeep, itDeep } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';
const ME = '/api/v1/auth/me';
const ORIGIN = 'https://notes.example.org';

let hour = Date.parse('2026-05-01T10:00:00.000Z');

/** Stops the clock 20 seconds into a minute that no other test uses. */
function newMinute({ clock }: Pick<TestService, 'clock'>): void {
  hour += 60 * 60_000;
  clock.stopAt(new Date(hour + 20_000));
}

/** How many of the concurrent requests are not refused with 429. */
async function letThrough(requests: Iterable<PromiseLike<supertest.Response>>): Promise<number> {
  const answers = await Promise.all(requests);
  for (const { status } of answers) expect(status).not.toBe(500);
  return answers.filter(({ status }) => status !== 429).length;
}

function times<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

function expectTooMany(answer: supertest.Response, retryAfter?: number): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 429,
    body: { error: 'too many requests' },
  });
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d?$/);
  if (retryAfter !== undefined) expect(answer.headers['retry-after']).toBe(String(retryAfter));
}

function jwks({ url }: TestService): supertest.Test {
  return supertest(url).get('/api/auth/jwks');
}

describe('the general limit', () => {
  const LIMIT = 6;
  let service: TestService;
  let alice: TestUser;
  let bob: TestUser;
  beforeAll(async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT) } });
    alice = await service.newcomer('alice');
    bob = await service.newcomer('bob');
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    newMinute(service);
    alice = await withNewJwt(alice);
    bob = await withNewJwt(bob);
  });

  /** Signs a JWT without a request, so that nothing is counted. */
  async function withNewJwt(user: TestUser): Promise<TestUser> {
    return user.at(service.url, await service.app.get(Users).signIn(user.id, {}));
  }

  it('allows a user the configured requests a minute, then answers 429 with the seconds left', async () => {
    for (let n = 0; n < LIMIT; n++) await alice.get(ME).expect(200);
    expectTooMany(await alice.get(ME), 40);
    service.clock.advance(39_999);
    expectTooMany(await alice.get(ME), 1);
    service.clock.advance(1);
    expect(await letThrough(times(LIMIT + 4, () => alice.get(ME)))).toBe(LIMIT);
    expectTooMany(await alice.get(ME), 60);
  });

  it('is counted per user, even at a shared address', async () => {
    expect(await letThrough(times(LIMIT + 1, () => alice.get(ME)))).toBe(LIMIT);
    await bob.get(ME).expect(200);
  });

  it('is shared by all tokens of a user', async () => {
    const { body } = await alice.post('/api/v1/auth/tokens').send({ name: 'x' }).expect(201);
    const holding = alice.at(service.url, body.token);
    expect(await letThrough(times(LIMIT, () => holding.get(ME)))).toBe(LIMIT - 1);
    expectTooMany(await alice.get(ME));
  });

  it('counts every answer, including 400, 402, 403 and 404', async () => {
    const requests = [
      alice.post('/api/v1/auth/tokens').send({}),
      alice.post('/api/v1/workspaces').send({ name: 'x' }),
      alice.get(`/api/v1/workspaces/${randomUUID()}`),
      alice.get('/api/v1/workspaces/x'),
      alice.delete(`/api/v1/auth/tokens/${randomUUID()}`),
      alice.get(ME),
    ];
    expect(requests).toHaveLength(LIMIT);
    expect(await letThrough(requests)).toBe(LIMIT);
    expectTooMany(await alice.get(ME));
  });

  itDeep('counts transfers of single files separately, with fifty times the limit', async () => {
    const missing = `/api/v1/workspaces/${randomUUID()}/files/AAAA`;
    const transfer = (n: number): supertest.Test =>
      n % 2 ? alice.get(missing) : alice.get(`${missing}/versions/${randomUUID()}`);
    expect(await letThrough(times(50 * LIMIT + 10, transfer))).toBe(50 * LIMIT);
    expectTooMany(await alice.get(missing), 40);
    expect(await letThrough(times(LIMIT + 1, () => alice.get(ME)))).toBe(LIMIT);
    await bob.get(missing).expect(404);
  });

  it('counts a request without a bearer by its address', async () => {
    expect(await letThrough(times(LIMIT + 4, () => jwks(service)))).toBe(LIMIT);
    expectTooMany(await jwks(service), 40);
    await alice.get(ME).expect(200);
  });

  it('counts failed authentications by address, and answers 429 when they are too many', async () => {
    const guess = (token: string): supertest.Test => alice.at(service.url, token).get(ME);
    const guesses = ['x', 'a.b.c', `pat_${'A'.repeat(43)}`, `${alice.token}x`, '..', 'pat_'];
    expect(guesses).toHaveLength(LIMIT);
    for (const token of guesses) await guess(token).expect(401);
    expectTooMany(await guess('x'), 40);
    expectTooMany(await jwks(service));
    await alice.get(ME).expect(200);
  });

  it('accepts valid tokens at an address with too many failed authentications', async () => {
    for (let n = 0; n <= LIMIT; n++) await supertest(service.url).get(ME);
    for (const user of [alice, bob]) await user.get(ME).expect(200);
  });

  it('never counts the health check', async () => {
    expect(await letThrough(times(5 * LIMIT, () => supertest(service.url).get('/health')))).toBe(5 * LIMIT);
    await jwks(service).expect(200);
    await letThrough(times(LIMIT, () => jwks(service)));
    for (const method of ['get', 'head'] as const)
      await supertest(service.url)[method]('/health').expect(200);
  });

  it('applies to every spelling of the path and every method', async () => {
    const spellings = ['/api/auth/jwks', '/api/auth/%6Awks', '/api/auth/jwks?x=1', '/api/%61uth/jwks'];
    for (const path of spellings)
      await supertest(service.url)
        .get(path)
        .expect(path.includes('%') ? 404 : 200);
    await supertest(service.url).head('/api/auth/jwks').expect(404);
    await supertest(service.url).put('/api/auth/jwks').expect(404);
    expectTooMany(await jwks(service));
  });

  it('changes nothing when it refuses', async () => {
    await letThrough(times(LIMIT, () => alice.get(ME)));
    const before = await service.database.query('SELECT count(*) FROM access_tokens');
    expectTooMany(await alice.post('/api/v1/auth/tokens').send({ name: 'x' }));
    expect(await service.database.query('SELECT count(*) FROM access_tokens')).toEqual(before);
  });

  it('ignores X-Forwarded-For while no proxy is trusted', async () => {
    const requests = times(LIMIT + 4, (n) =>
      jwks(service)
        .set('X-Forwarded-For', `203.0.113.${n}`)
        .set('Forwarded', `for=203.0.113.${n}`)
        .set('X-Real-IP', `203.0.113.${n}`)
        .set('X-Client-Address', `203.0.113.${n}`),
    );
    expect(await letThrough(requests)).toBe(LIMIT);
  });
});

describe('behind a trusted proxy', () => {
  const LIMIT = 4;
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT), TRUST_PROXY: 'true' } });
  });
  afterAll(() => service.close());
  beforeEach(() => newMinute(service));

  const from = (forwarded: string): supertest.Test => jwks(service).set('X-Forwarded-For', forwarded);

  it('the last address of X-Forwarded-For counts, since clients can set those before it', async () => {
    expect(await letThrough(times(LIMIT + 4, (n) => from(`198.51.100.${n}, 203.0.113.1`)))).toBe(LIMIT);
    expectTooMany(await from('203.0.113.1'));
    await from('203.0.113.2').expect(200);
    await from('203.0.113.1, 203.0.113.3').expect(200);
  });

  it('an IPv6 client counts by its /64, and an IPv4 one in either notation', async () => {
    expect(await letThrough(times(LIMIT + 4, (n) => from(`2001:db8:0:1::${n.toString(16)}`)))).toBe(LIMIT);
    expectTooMany(await from('2001:DB8:0:1:ffff:ffff:ffff:ffff'));
    await from('2001:db8:0:2::1').expect(200);

    expect(await letThrough(times(LIMIT, () => from('203.0.113.9')))).toBe(LIMIT);
    expectTooMany(await from('::ffff:203.0.113.9'));
  });

  it.each([
    ['with a port', (n: number) => `203.0.113.20:${40_000 + n}`, '203.0.113.20'],
    ['in brackets', (n: number) => `[2001:db8:0:20::${n}]`, '2001:db8:0:20::1'],
    ['in brackets with a port', (n: number) => `[2001:db8:0:21::1]:${40_000 + n}`, '2001:db8:0:21::1'],
    ['mapped, in brackets, with a port', (n: number) => `[::ffff:203.0.113.22]:${n}`, '203.0.113.22'],
    ['in quotes', (n: number) => `"[2001:db8:0:23::1]:${n}"`, '2001:db8:0:23::1'],
    ['with a zone', (n: number) => `fe80::1%eth${n}`, 'fe80::1'],
  ])('an address %s counts as the bare address', async (_, form, bare) => {
    expect(await letThrough(times(LIMIT + 4, (n) => from(form(n))))).toBe(LIMIT);
    expectTooMany(await from(bare));
  });

  it('an entry that is not an address counts as the proxy', async () => {
    const garbage = [
      'unknown',
      '_hidden',
      '[203.0.113',
      '203.0.113.1:port',
      '1.2.3.4.5',
      ',',
      '"',
      '[]:1',
      '%',
    ];
    const requests = garbage.flatMap((entry, n) => [from(entry), from(`198.51.100.${n}, ${entry}${n}`)]);
    expect(await letThrough(requests)).toBe(LIMIT);
    expectTooMany(await jwks(service));
  });

  it('a session records the address without the port', async () => {
    const email = 'behind-a-proxy@example.org';
    await identity(service.url, 'sign-up/email', { email, name: 'P', password: PASSWORD })
      .set('X-Forwarded-For', '198.51.100.1, [2001:db8:0:30::1]:4711')
      .expect(200);
    const found = await service.database.query(
      `SELECT ip_address FROM auth_sessions s JOIN users u ON u.id = s.user_id WHERE u.email = $1`,
      [email],
    );
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ ip_address: expect.stringMatching(/^2001:0?db8:/) });
  });

  it('a client that bypasses the proxy counts by the address of the connection', async () => {
    expect(await letThrough(times(LIMIT + 4, () => jwks(service)))).toBe(LIMIT);
  });
});

describe('two instances', () => {
  const LIMIT = 1200;
  let one: TestService;
  let two: TestService;
  beforeAll(async () => {
    const env = { RATE_LIMIT_PER_MINUTE: String(LIMIT), LOG_LEVEL: 'warn' };
    one = await startService({ env });
    two = await startService({ env, beside: one });
  });
  afterAll(async () => {
    await two.close();
    await one.close();
  });
  beforeEach(() => newMinute(one));

  /** Calls the limiters of the services directly: a thousand HTTP requests would show no more. */
  function hits(count: number, key: string, limit: number, at = [one, two]): Promise<number> {
    const lease = Math.ceil(limit / 24);
    return passed(times(count, (n) => at[n % at.length]!.app.get(RateLimiter).hit(key, limit, lease)));
  }

  it.each([1, 2, 30, 100, LIMIT])(
    'together allow no more than the limit of %i, in any burst',
    async (limit) => {
      const key = randomUUID();
      const first = await hits(limit, key, limit);
      const rest = await hits(2 * limit, key, limit);
      expect(first + rest).toBe(limit);
      expect(await hits(10, key, limit)).toBe(0);
    },
  );

  it('count one user together', async () => {
    const alice = await one.newcomer('alice');
    await hits(LIMIT - 10, `user:${alice.id}`, LIMIT);
    const requests = times(40, (n) => alice.at([one, two][n % 2]!.url).get(ME));
    const all = await letThrough(requests);
    expect(all).toBeLessThanOrEqual(10);
    for (const { url } of [one, two]) expectTooMany(await alice.at(url).get(ME), 40);
  });

  it('share a limit so that a burst at one of them does not block the other', async () => {
    const alice = await one.newcomer('burst');
    expect(await letThrough(times(40, () => alice.get(ME)))).toBe(40);
    await alice.at(two.url).get(ME).expect(200);
    expect(await hits(LIMIT, `user:${alice.id}`, LIMIT, [two])).toBeGreaterThanOrEqual(LIMIT - 100);
  });

  itDeep('share a small limit in the same way', async () => {
    const env = { RATE_LIMIT_PER_MINUTE: '40' };
    const [small, other] = [
      await startService({ env, beside: one }),
      await startService({ env, beside: one }),
    ];
    try {
      const alice = await one.newcomer('small');
      expect(await letThrough(times(3, () => alice.at(small.url).get(ME)))).toBe(3);
      expect(await letThrough(times(40, () => alice.at(other.url).get(ME)))).toBeGreaterThanOrEqual(35);
    } finally {
      await Promise.all([small.close(), other.close()]);
    }
  });

  it.each([
    [
      'sign-in',
      ({ url }: TestService) => identity(url, 'sign-in/email', { email: 'x@example.org', password: 'guess' }),
    ],
    ['sign-up', ({ url }: TestService) => identity(url, 'sign-up/email', { email: 'x' })],
    ['dev-login', ({ url }: TestService) => devLogin(url, 'a wrong key')],
  ])('share the ten attempts at %s a minute per address', async (_, attempt) => {
    const answers = await Promise.all(times(16, (n) => attempt([one, two][n % 2]!)));
    expect(answers.filter(({ status }) => status !== 429)).toHaveLength(10);
    for (const at of [one, two]) expectTooMany(await attempt(at), 40);
    one.clock.advance(40_000);
    expect((await attempt(two)).status).not.toBe(429);
  });

  it('count together although their clocks are seconds apart at the turn of a minute', async () => {
    const early = limiterAt(new Date(hour + 59_999));
    const late = limiterAt(new Date(hour + 60_000));
    const key = randomUUID();
    let through = 0;
    for (let n = 0; n < 60; n++) through += await passed([(n % 2 ? early : late).hit(key, 10)]);
    expect(through).toBe(10);
    expect(await passed(times(20, () => limiterAt(new Date(hour + 120_000)).hit(key, 10)))).toBe(10);
  });

  it('are not blocked by a clock that was far ahead once', async () => {
    const key = randomUUID();
    const ahead = limiterAt(new Date(hour + 180_000));
    expect(await passed(times(20, () => ahead.hit(key, 10)))).toBe(10);
    expect(await passed(times(20, () => limiterAt(new Date(hour)).hit(key, 10)))).toBe(10);
  });

  it('delete the counts of past minutes', async () => {
    const key = randomUUID();
    await hits(1, key, 10);
    const rows = (): Promise<unknown[]> =>
      one.database.query('SELECT FROM rate_limits WHERE key = $1', [key]);
    await one.app.get(RateLimiter).forgetOldWindows();
    expect(await rows()).toHaveLength(1);
    one.clock.advance(3 * 60_000);
    await one.app.get(RateLimiter).forgetOldWindows();
    expect(await rows()).toHaveLength(0);
  });

  function limiterAt(time: Date): RateLimiter {
    const clock = new MovableClock();
    clock.stopAt(time);
    const configuration = loadConfiguration({ DATABASE_URL: one.database.url });
    return new RateLimiter(
      configuration,
      new PostgresHitCounter(
        one.app.get(Database),
        one.app.get(getRepositoryToken(RateLimit), { strict: false }),
      ),
      clock,
      one.app.get(Log),
    );
  }
});

async function passed(hits: Promise<void>[]): Promise<number> {
  const outcomes = await Promise.allSettled(hits);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(TooManyRequests);
  }
  return outcomes.filter(({ status }) => status === 'fulfilled').length;
}

function identity(url: string, action: string, body: object): supertest.Test {
  return supertest(url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body);
}

function devLogin(url: string, key = DEV_LOGIN_KEY): supertest.Test {
  return supertest(url)
    .post('/api/v1/auth/dev-login')
    .set('X-Dev-Login-Key', key)
    .send({ email: 'dev@example.org', name: 'Dev' });
}

describe('the limit of ten attempts a minute per address', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200', TRUST_PROXY: 'true' } });
  });
  afterAll(() => service.close());
  beforeEach(() => newMinute(service));

  it('is counted separately for sign-in, sign-up and dev-login, and includes successes', async () => {
    for (let n = 0; n < 10; n++) await devLogin(service.url).expect(200);
    expectTooMany(await devLogin(service.url));
    for (let n = 0; n < 10; n++) {
      const body = { email: `tries-${n}@example.org`, name: 'T', password: PASSWORD };
      await identity(service.url, 'sign-up/email', body).expect(200);
    }
    expectTooMany(await identity(service.url, 'sign-up/email', {}));
    const body = { email: 'tries-0@example.org', password: PASSWORD };
    for (let n = 0; n < 10; n++) await identity(service.url, 'sign-in/email', body).expect(200);
    expectTooMany(await identity(service.url, 'sign-in/email', body));
  });

  it('is separate for another address', async () => {
    const body = { email: 'x@example.org', password: 'guess' };
    const from = (address: string): supertest.Test =>
      identity(service.url, 'sign-in/email', body).set('X-Forwarded-For', address);
    expect(await letThrough(times(12, () => from('2001:db8::1')))).toBe(10);
    expectTooMany(await from('2001:db8::2'));
    await from('2001:db8:0:1::1').expect(401);
    await from('203.0.113.1').expect(401);
  });

  it('cannot be evaded by another spelling of the path, which is 404', async () => {
    const body = { email: 'x', password: 'x' };
    const others = ['%73ign-in/email', 'sign-in%2Femail', 'sign-in%2femail?x=1', 'sign%2Din/email'];
    for (const spelling of others) await identity(service.url, spelling, body).expect(404);
    expect(await letThrough(times(20, () => identity(service.url, 'sign-in/email', body)))).toBe(10);
    for (const spelling of others) await identity(service.url, spelling, body).expect(404);
  });

  it('is counted before the password is checked, and does not affect users with a session', async () => {
    const email = 'signed-in@example.org';
    const signUp = await identity(service.url, 'sign-up/email', {
      email,
      name: 'S',
      password: PASSWORD,
    }).expect(200);
    const authorization = `Bearer ${(signUp.body as { token: string }).token}`;
    await letThrough(times(12, () => identity(service.url, 'sign-in/email', { email, password: 'guess' })));
    expectTooMany(await identity(service.url, 'sign-in/email', { email, password: PASSWORD }));
    await supertest(service.url).get('/api/auth/token').set('Authorization', authorization).expect(200);
  });
});

describeDeep('RATE_LIMIT_PER_MINUTE=0', () => {
  itDeep('switches every limit off, including those of attempts', async () => {
    const service = await startService();
    try {
      service.clock.stopAt(new Date('2026-05-01T10:00:00Z'));
      const alice = await service.user('alice');
      const workspace = await alice.workspace();
      const verify = { verificationHash: sha256('guess') };
      const all = [
        ...times(40, () => alice.get(ME)),
        ...times(40, () => jwks(service)),
        ...times(40, () => alice.at(service.url, 'x').get(ME)),
        ...times(21, () => alice.post('/api/v1/auth/tokens').send({ name: 'x' })),
        ...times(11, () => alice.post(`${workspace.path}/verify-password`).send(verify)),
        ...times(11, () => devLogin(service.url, 'a wrong key')),
        ...times(11, () => identity(service.url, 'sign-up/email', { email: 'x' })),
      ];
      expect(await letThrough(all)).toBe(all.length);
      expect(await service.database.query('SELECT FROM rate_limits')).toEqual([]);
    } finally {
      await service.close();
    }
  });
});

describe('the rate limiter of a service with an embedded database', () => {
  const clock = new MovableClock();
  const untouchable = undefined as never;
  const limiter = new RateLimiter(
    loadConfiguration({}),
    new PostgresHitCounter(untouchable, untouchable),
    clock,
    undefined as unknown as Log,
  );
  beforeEach(() => newMinute({ clock }));

  it('counts exactly in memory, whatever the lease', async () => {
    for (const lease of [1, 50]) {
      const key = randomUUID();
      expect(await passed(times(30, () => limiter.hit(key, 7, lease)))).toBe(7);
      expect(await passed([limiter.hit(randomUUID(), 7, lease)])).toBe(1);
    }
  });

  it('starts anew with each minute', async () => {
    expect(await passed(times(3, () => limiter.hit('key', 2)))).toBe(2);
    clock.advance(39_999);
    await expect(limiter.hit('key', 2)).rejects.toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
    });
    clock.advance(1);
    expect(await passed(times(3, () => limiter.hit('key', 2)))).toBe(2);
  });

  it('remembers a bounded number of keys: the oldest are allowed again, the newest are not', async () => {
    await limiter.hit('oldest', 1);
    for (let n = 0; n < 49_999; n++) await limiter.hit(`key ${n}`, 1);
    expect(await passed([limiter.hit('oldest', 1)])).toBe(0);
    await limiter.hit('one more', 1);
    expect(await passed([limiter.hit('one more', 1), limiter.hit('key 49998', 1)])).toBe(0);
    expect(await passed([limiter.hit('oldest', 1)])).toBe(1);
  });
});

describe('the rate limit key of an address', () => {
  it.each([
    ['an IPv4 address', '203.0.113.9', 'address:203.0.113.9'],
    ['the same in IPv6', '::ffff:203.0.113.9', 'address:203.0.113.9'],
    ['the same in IPv6 and hex', '::ffff:cb00:7109', 'address:203.0.113.9'],
    ['an IPv6 address', '2001:db8:1:2:3:4:5:6', 'address:2001:db8:1:2::/64'],
    ['its neighbour in the /64', '2001:db8:1:2:ffff::1', 'address:2001:db8:1:2::/64'],
    ['the same in capitals and with zeros', '2001:0DB8:0001:0002::', 'address:2001:db8:1:2::/64'],
    ['another /64', '2001:db8:1:3::1', 'address:2001:db8:1:3::/64'],
    ['the loopback', '::1', 'address:0:0:0:0::/64'],
    ['a link-local address and its zone', 'fe80::1%eth0', 'address:fe80:0:0:0::/64'],
    ['text that is no address', 'unknown', 'address:unknown'],
  ])('is derived from %s', (_, ip, key) => expect(addressKey(ip)).toBe(key));
});

describe('security headers', () => {
  const HEADERS = {
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
  const HSTS = 'strict-transport-security';

  let service: TestService;
  let https: TestService;
  let alice: TestUser;
  beforeAll(async () => {
    service = await startService({ env: { TRUSTED_ORIGINS: ORIGIN } });
    const env = { TRUSTED_ORIGINS: ORIGIN, BASE_URL: 'https://sync.example.org', RATE_LIMIT_PER_MINUTE: '1' };
    https = await startService({ env });
    alice = await service.user('alice');
  });
  afterAll(async () => {
    await https.close();
    await service.close();
  });

  const get = (path: string, headers = {}): Promise<RawAnswer> =>
    sendRaw(service.url, { method: 'GET', path, headers });
  const preflight = { Origin: ORIGIN, 'Access-Control-Request-Method': 'PUT' };

  it.each<[string, number, () => Promise<RawAnswer | supertest.Response>]>([
    ['a success', 200, () => get('/health')],
    ['a HEAD', 200, () => sendRaw(service.url, { method: 'HEAD', path: '/health' })],
    ['a request with a bearer token', 200, async () => alice.get(ME)],
    ['a creation', 201, async () => alice.post('/api/v1/workspaces').send({ name: 'x' })],
    ['a minted token', 201, async () => alice.post('/api/v1/auth/tokens').send({ name: 'x' })],
    ['a response of the identity handler', 200, () => get('/api/auth/jwks')],
    ['a refusal of the identity handler', 401, () => get('/api/auth/token')],
    ['a missing bearer', 401, () => get(ME)],
    ['a bad request', 400, async () => alice.post('/api/v1/workspaces').send({})],
    ['a wrong dev-login key', 403, async () => devLogin(service.url, 'wrong')],
    ['a missing workspace', 404, async () => alice.get(`/api/v1/workspaces/${randomUUID()}`)],
    ['an unknown route', 404, () => get('/nope')],
    ['an unknown route of the identity handler', 404, () => get('/api/auth/nope')],
    ['a malformed path', 400, () => get('/%')],
    ['the request target *', 404, () => get('*')],
    ['an encoding that is not accepted', 415, encodedBody],
    ['a preflight', 204, () => sendRaw(service.url, { method: 'OPTIONS', path: ME, headers: preflight })],
    ['OPTIONS without an origin', 404, () => sendRaw(service.url, { method: 'OPTIONS', path: ME })],
  ])('are on %s (%i)', async (_, status, request) => {
    const answer = await request();
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(HEADERS);
    for (const name of [HSTS, 'server', 'x-powered-by']) expect(answer.headers).not.toHaveProperty(name);
  });

  it('are on a 429', async () => {
    newMinute(https);
    await jwks(https).expect(200);
    const answer = await jwks(https).expect(429);
    expect(answer.headers).toMatchObject(HEADERS);
  });

  it('let only the client cache a download, and only with revalidation', async () => {
    const workspace = await alice.workspace();
    await workspace.put('YQ', '<script>alert(1)</script>').expect(201);
    const { headers } = await workspace.get('YQ').expect(200);
    expect(headers).toMatchObject({
      ...HEADERS,
      'cache-control': 'private, no-cache',
      'content-type': 'application/octet-stream',
    });
  });

  it('include HSTS on every response when BASE_URL is https', async () => {
    newMinute(https);
    for (const [method, path] of [
      ['GET', '/health'],
      ['GET', '/nope'],
      ['GET', '/%'],
      ['GET', ME],
      ['GET', '/api/auth/jwks'],
      ['OPTIONS', ME],
    ] as const) {
      const answer = await sendRaw(https.url, { method, path, headers: preflight });
      expect(answer.headers[HSTS]).toMatch(/^max-age=[1-9]\d{7,}/);
    }
  });

  function encodedBody(): Promise<RawAnswer> {
    const headers = { Authorization: `Bearer ${alice.token}`, 'Content-Encoding': 'gzip' };
    return sendRaw(service.url, {
      method: 'POST',
      path: '/api/v1/workspaces',
      headers,
      body: '{"name":"x"}',
    });
  }
});

describe('CORS', () => {
  let service: TestService;
  let closed: TestService;
  let alice: TestUser;
  beforeAll(async () => {
    service = await startService({ env: { TRUSTED_ORIGINS: `${ORIGIN}, http://localhost:3000` } });
    closed = await startService();
    alice = await service.user('alice');
  });
  afterAll(async () => {
    await closed.close();
    await service.close();
  });

  const corsHeaders = ({ headers }: supertest.Response): [string, string][] =>
    Object.entries(headers as Record<string, string>).filter(([name]) => name.startsWith('access-control-'));

  function preflight(path: string, headers: Record<string, string>, at = service): supertest.Test {
    return supertest(at.url).options(path).set(headers);
  }

  const list = (header: string | undefined): string[] => (header ?? '').toLowerCase().split(/,\s*/).sort();

  const STRANGERS = [
    'https://evil.example',
    'https://notes.example.org.evil.example',
    'https://evil-notes.example.org',
    'http://notes.example.org',
    'https://notes.example.org:8443',
    'https://notes.example.org/',
    'https://NOTES.example.org',
    'https://sub.notes.example.org',
    'https://notes.example.org https://evil.example',
    BASE_URL,
    'null',
    '*',
    '',
  ];

  it.each([[ORIGIN], ['http://localhost:3000']])(
    'lets %s read responses and errors, without credentials',
    async (origin) => {
      for (const [path, status] of [
        ['/health', 200],
        [ME, 401],
        ['/nope', 404],
        ['/api/auth/jwks', 200],
      ] as const) {
        const answer = await supertest(service.url).get(path).set('Origin', origin).expect(status);
        expect(answer.headers['access-control-allow-origin']).toBe(origin);
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
        expect(list(answer.headers.vary)).toContain('origin');
      }
    },
  );

  it('lets scripts read the 503 and Retry-After while the service is down, after a preflight', async () => {
    const killSwitch = service.app.get(KillSwitch);
    await killSwitch.set('down');
    await killSwitch.look();
    try {
      const asked = { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET' };
      await preflight(ME, asked).expect(204);
      for (const path of [ME, '/nope']) {
        const answer = await supertest(service.url).get(path).set('Origin', ORIGIN);
        expect([answer.status, answer.body]).toEqual([503, { error: 'the service is down for maintenance' }]);
        expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
        expect(list(answer.headers['access-control-expose-headers'])).toContain('retry-after');
        expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      }
    } finally {
      await killSwitch.set('off');
      await killSwitch.look();
    }
  });

  it('exposes the headers of the contract to scripts', async () => {
    const { headers } = await supertest(service.url).get('/health').set('Origin', ORIGIN).expect(200);
    expect(list(headers['access-control-expose-headers'])).toEqual(
      expect.arrayContaining(['etag', 'content-range', 'retry-after', 'x-asset-size-bytes', 'x-request-id']),
    );
  });

  it('answers the preflight of an upload', async () => {
    const asked = {
      Origin: ORIGIN,
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'authorization,content-type,x-content-hash,x-device-id',
    };
    const workspace = await alice.workspace();
    const answer = await preflight(workspace.file('YQ'), asked).expect(204);
    expect(answer.text).toBe('');
    expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
    expect(list(answer.headers['access-control-allow-methods'])).toEqual(
      expect.arrayContaining(['delete', 'get', 'head', 'patch', 'post', 'put']),
    );
    expect(list(answer.headers['access-control-allow-headers'])).toEqual(
      expect.arrayContaining([
        ...['authorization', 'content-type', 'x-content-hash', 'x-device-id', 'if-match', 'if-none-match'],
        ...['range', 'idempotency-key', 'x-workspace-id', 'x-key-session'],
      ]),
    );
    expect(Number(answer.headers['access-control-max-age'])).toBeGreaterThan(0);
    expect(list(answer.headers.vary)).toContain('origin');
  });

  it('answers preflights without a bearer, and no other request', async () => {
    const workspace = await alice.workspace();
    await preflight(workspace.path, { Origin: ORIGIN, 'Access-Control-Request-Method': 'DELETE' }).expect(
      204,
    );
    await supertest(service.url).delete(workspace.path).set('Origin', ORIGIN).expect(401);
    await alice.get(workspace.path).expect(200);
  });

  it.each(STRANGERS)('sends no CORS header to the origin "%s"', async (origin) => {
    const headers = { Origin: origin, Authorization: `Bearer ${alice.token}` };
    const answer = await supertest(service.url).get(ME).set(headers).expect(200);
    expect(corsHeaders(answer)).toEqual([]);
    expect(list(answer.headers.vary)).toContain('origin'); // no cache may serve it to a trusted origin

    const asked = { Origin: origin, 'Access-Control-Request-Method': 'PUT' };
    const refused = await preflight(ME, asked).expect(404);
    expect(corsHeaders(refused)).toEqual([]);
    expect(refused.body).toEqual({ error: 'not found' });
  });

  it('sends no CORS header without an origin, and answers OPTIONS with 404', async () => {
    expect(corsHeaders(await supertest(service.url).get('/health').expect(200))).toEqual([]);
    const asked: Record<string, string>[] = [{}, { 'Access-Control-Request-Method': 'PUT' }];
    for (const headers of asked) {
      for (const path of ['/health', ME, '/nope', '/api/auth/token']) {
        const answer = await preflight(path, headers).expect(404);
        expect(answer.body).toEqual({ error: 'not found' });
        expect(corsHeaders(answer)).toEqual([]);
      }
    }
  });

  it('is absent without TRUSTED_ORIGINS', async () => {
    for (const origin of [ORIGIN, BASE_URL, 'null']) {
      const asked = { Origin: origin, 'Access-Control-Request-Method': 'PUT' };
      expect(corsHeaders(await supertest(closed.url).get('/health').set(asked).expect(200))).toEqual([]);
      const answer = await preflight(ME, asked, closed).expect(404);
      expect(corsHeaders(answer)).toEqual([]);
      expect(answer.body).toEqual({ error: 'not found' });
    }
  });
});

describe('the start in production', () => {
  const SAFE = {
    NODE_ENV: 'production',
    AUTH_SECRET: 's'.repeat(32),
    BASE_URL: 'https://sync.example.org',
    PAYMENT_WEBHOOK_SECRET: 'whsec_of_tests',
    SIGNUP_ENABLED: 'false',
  };

  async function warningsOf(env: Record<string, string>): Promise<string[]> {
    const service = await startService({ env: { DEV_LOGIN_KEY: '', RATE_LIMIT_PER_MINUTE: '1200', ...env } });
    await service.close();
    const lines = service.logged().split('\n').filter(Boolean);
    return lines
      .map((line) => JSON.parse(line))
      .flatMap(({ level, message }) => (level === 'warn' ? [String(message)] : []));
  }

  it.each([
    ['no rate limits', { RATE_LIMIT_PER_MINUTE: '0' }, /RATE_LIMIT_PER_MINUTE/],
    ['a dev-login key', { DEV_LOGIN_KEY: 'the key itself, of 32 characters or more' }, /DEV_LOGIN_KEY/],
    ['an address without https', { BASE_URL: 'http://sync.example.org' }, /BASE_URL/],
    ['subscriptions that no event can reach', { PAYMENT_WEBHOOK_SECRET: '' }, /PAYMENT_WEBHOOK_SECRET/],
    ['a provider with nothing to sell', { STRIPE_SECRET_KEY: 'sk_of_tests' }, /STRIPE_PRICE_ID/],
  ])('warns of %s, once and without its value', async (_, env, warning) => {
    const warnings = await warningsOf({ ...SAFE, ...env });
    expect(warnings).toEqual([expect.stringMatching(warning)]);
    expect(warnings.join()).not.toContain('the key itself, of 32 characters or more');
  });

  itDeep('warns of several settings together, and of none when they are in order', async () => {
    const all = {
      RATE_LIMIT_PER_MINUTE: '0',
      DEV_LOGIN_KEY: 'the key itself, of 32 characters or more',
      BASE_URL: 'http://sync.example.org',
    };
    expect(await warningsOf({ ...SAFE, ...all })).toHaveLength(3);
    expect(await warningsOf(SAFE)).toEqual([]);
  });

  it('warns of nothing in development', async () => {
    expect(await warningsOf({ DEV_LOGIN_KEY, RATE_LIMIT_PER_MINUTE: '0' })).toEqual([]);
  });
});
