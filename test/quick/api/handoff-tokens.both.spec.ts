import supertest from 'supertest';
import { BASE_URL, holdRow, startService, type TestService } from '../../kit/index.js';
import { rounds } from '../../kit/rounds.js';
import { elementOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const PATH = '/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789';

let service: TestService;
let beside: TestService;
beforeAll(async () => {
  service = await startService();
  beside = await startService({ beside: service });
});
afterAll(async () => {
  await beside.close();
  await service.close();
});

/** A signed-in browser: further tokens need no password check. */
async function signedIn(name: string): Promise<Visitor> {
  const email = `${name}@example.org`;
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name, password: PASSWORD })
    .expect(200);
  const browser = new Visitor(service.url);
  await browser.submit(await browser.get(PATH), 'Sign in', { email, password: PASSWORD });
  return browser;
}

async function handOver(browser: Visitor): Promise<string> {
  const answer = await browser.submit(await browser.get(PATH), 'Continue');
  return new URL(elementOf(answer, 'link').value!).searchParams.get('token')!;
}

async function verify(token: string, at = service): Promise<number> {
  const request = supertest(at.url).post('/api/auth/one-time-token/verify').set('Origin', BASE_URL);
  return (await request.send({ token })).status;
}

describe('a one-time token of the handoff', () => {
  it('works once: one of fifty concurrent uses on two instances wins', async () => {
    const browser = await signedIn('contested');
    for (let round = 0; round < rounds(1, 4); round++) {
      const token = await handOver(browser);
      const tries = Array.from({ length: 50 }, (_, at) => verify(token, at % 2 === 0 ? service : beside));
      const statuses = await Promise.all(tries);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 400)).toHaveLength(49);
    }
  });

  it('is accepted by an instance other than the one that issued it', async () => {
    expect(await verify(await handOver(await signedIn('across')), beside)).toBe(200);
  });

  it.each([
    ['is valid for three minutes', 2 * 60_000 + 55_000, 200],
    ['is refused after three minutes', 3 * 60_000 + 1000, 400],
  ])('%s', async (name, later, status) => {
    const token = await handOver(await signedIn(name.replaceAll(' ', '-')));
    // The identity handler reads the system clock, so the token is made older.
    await service.database.query(
      `UPDATE auth_verifications SET expires_at = expires_at - interval '1 ms' * ${later}`,
    );
    expect(await verify(token)).toBe(status);
  });

  it('is stored only as a hash', async () => {
    const token = await handOver(await signedIn('hashed'));
    const rows = await service.database.query('SELECT to_jsonb(v)::text AS row FROM auth_verifications v');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  it('belongs to a new session, which the browser does not have', async () => {
    const browser = await signedIn('sessions');
    const sessions = await Promise.all(
      [await handOver(browser), await handOver(browser)].map(async (token) => {
        const request = supertest(service.url)
          .post('/api/auth/one-time-token/verify')
          .set('Origin', BASE_URL);
        return String((await request.send({ token }).expect(200)).body.session.token);
      }),
    );
    expect(new Set(sessions).size).toBe(2);
    for (const session of sessions) expect(decodeURIComponent(browser.cookie)).not.toContain(session);
  });
});

describe('a handoff whose browser is signed out meanwhile', () => {
  it('is 403, and leaves no session behind', async () => {
    const browser = await signedIn('signed-out');
    const page = await browser.get(PATH);
    const [user] = await service.database.query<{ id: string }>(
      `SELECT id FROM users WHERE email = 'signed-out@example.org'`,
    );
    const held = await holdRow(service.database, 'users', 'id', user!.id);
    const answer = browser.submit(page, 'Continue');
    await held.waiting(1); // for the app's session
    await service.database.query('DELETE FROM auth_sessions WHERE user_id = $1', [user!.id]);
    await held.release();
    expect((await answer).status).toBe(403);
    expect(await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [user!.id])).toEqual(
      [],
    );
  });
});

describe('rate limits', () => {
  let limited: TestService;
  beforeAll(async () => {
    limited = await startService({ beside: service, env: { RATE_LIMIT_PER_MINUTE: '1200' } });
  });
  afterAll(() => limited.close());
  beforeEach(() => {
    const now = service.clock.now().getTime();
    service.clock.advance(60_000 - (now % 60_000));
    service.clock.stopAt(service.clock.now()); // the minute must not end within a test
  });
  afterEach(() => service.clock.resume());

  it('allow ten sign-ins a minute for a network address, those over the API included', async () => {
    const browser = new Visitor(limited.url);
    const page = await browser.get(PATH);
    const guess = { email: 'nobody@example.org', password: 'guess number n' };
    for (let tries = 0; tries < 9; tries++)
      expect((await browser.submit(page, 'Sign in', guess)).status).toBe(422);
    const atTheApi = supertest(limited.url).post('/api/auth/sign-in/email').set('Origin', BASE_URL);
    await atTheApi.send(guess).expect(401);

    const refused = await browser.submit(page, 'Sign in', guess);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(textOf(refused.text)).toContain('Too many attempts');
    expect(elementOf(refused, 'sign-in-email').value).toBe(guess.email);
  });

  it('allow ten sign-ups a minute', async () => {
    const browser = new Visitor(limited.url);
    const page = await browser.get(PATH);
    const statuses = [];
    for (let tries = 0; tries < 11; tries++)
      statuses.push((await browser.submit(page, 'Sign up', { name: 'N', email: 'x', password: 'x' })).status);
    expect(statuses).toEqual([...Array<number>(10).fill(422), 429]);
  });

  it('allow twenty handoffs a minute for a user', async () => {
    const browser = await signedIn('eager');
    const atLimited = new Visitor(limited.url);
    for (const pair of browser.cookie.split('; '))
      atLimited.setCookie(...(pair.split(/=(.*)/s) as [string, string]));
    const page = await atLimited.get(PATH);
    const statuses = [];
    for (let tries = 0; tries < 21; tries++) statuses.push((await atLimited.submit(page, 'Continue')).status);
    expect(statuses).toEqual([...Array<number>(20).fill(200), 429]);
    expect((await atLimited.get(PATH)).text).toContain('Continue'); // still signed in

    const sessions = (): Promise<unknown[]> =>
      service.database.query(
        `SELECT s.id FROM auth_sessions s JOIN users u ON u.id = s.user_id WHERE u.name = 'eager' ORDER BY s.id`,
      );
    const before = await sessions();
    const another = new Visitor(limited.url);
    const credentials = { email: 'eager@example.org', password: PASSWORD };
    expect((await another.submit(await another.get(PATH), 'Sign in', credentials)).status).toBe(429);
    expect(await sessions()).toEqual(before); // no session without a browser
  });
});
