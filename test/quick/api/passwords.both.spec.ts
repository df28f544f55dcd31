import crypto, { randomUUID } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { hashPassword } from 'better-auth/crypto';
import pg from 'pg';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { AuthAccount } from '../../../src/domain/auth/auth.entities.js';
import { BrowserSessions, PasswordCost, PasswordHasher } from '../../../src/domain/auth/index.js';
import { HASHING_LIMITS } from '../../../src/domain/auth/password-hasher.js';
import { ExpiredRows } from '../../../src/domain/retention/retention.service.js';
import { NightlyJobs } from '../../../src/platform/jobs/index.js';
import { BASE_URL, eventually, holdRow, startService, type TestService, TestUser } from '../../kit/index.js';
import { waitPatiently } from '../../kit/patient-locks.js';
import { itDeep } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';
const NEW_PASSWORD = 'another battery staple';
const TOO_COMMON = { code: 'PASSWORD_TOO_COMMON', message: expect.stringMatching(/too common/) };
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** A request behind a proxy, from the client `ip`. */
function post(at: TestService, action: string, body: object, ip = '198.51.100.1'): supertest.Test {
  return supertest(at.url)
    .post(`/api/auth/${action}`)
    .set({ Origin: BASE_URL, 'X-Forwarded-For': ip })
    .send(body);
}

const signIn = (at: TestService, email: string, password: string, ip?: string): supertest.Test =>
  post(at, 'sign-in/email', { email, password }, ip);

const withSession = (at: TestService, path: string, session: string): supertest.Test =>
  supertest(at.url).get(`/api/auth/${path}`).set('Authorization', `Bearer ${session}`);

interface Somebody {
  readonly id: string;
  readonly email: string;
  readonly session: string;
}

async function signUp(at: TestService, name: string, ip?: string): Promise<Somebody> {
  const email = `${name}@example.org`;
  const { body } = await post(at, 'sign-up/email', { email, name, password: PASSWORD }, ip).expect(200);
  return { id: body.user.id, email, session: body.token };
}

function change(at: TestService, session: string, more: object = {}, ip?: string): supertest.Test {
  const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD, ...more };
  return post(at, 'change-password', body, ip).set('Authorization', `Bearer ${session}`);
}

async function hashOf(at: TestService, id: string): Promise<string> {
  const rows = await at.database.query<{ password: string }>(
    'SELECT password FROM auth_accounts WHERE user_id = $1',
    [id],
  );
  return rows[0]!.password;
}

/** Stores a hash in the format of earlier versions. */
async function makeOutdated(at: TestService, { id }: Somebody, password = PASSWORD): Promise<string> {
  const hash = await hashPassword(password);
  await at.database.query('UPDATE auth_accounts SET password = $2 WHERE user_id = $1', [id, hash]);
  return hash;
}

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: 'true' } });
  await waitPatiently(service);
});
afterAll(() => service.close());

describe('a new password', () => {
  const refused = { currentPassword: PASSWORD };

  it.each([
    ['qwertyuiop', TOO_COMMON],
    ['1234567890', TOO_COMMON],
    ['Password123', TOO_COMMON],
    ['PASSWORD123', TOO_COMMON],
    ['ｐａｓｓｗｏｒｄ123', TOO_COMMON],
    ['nine char', { code: 'PASSWORD_TOO_SHORT', message: expect.stringContaining('at least 10 characters') }],
    ['x'.repeat(129), { code: 'PASSWORD_TOO_LONG', message: expect.stringContaining('at most 128') }],
  ])('cannot be %s, at sign-up and at a change', async (password, error) => {
    const email = `${randomUUID()}@example.org`;
    const answer = await post(service, 'sign-up/email', { email, name: 'Weak', password }).expect(400);
    expect(answer.body).toEqual(error);
    expect(await service.database.query('SELECT FROM users WHERE email = $1', [email])).toEqual([]);

    const { session } = await signUp(service, randomUUID());
    const changed = await change(service, session, { ...refused, newPassword: password }).expect(400);
    expect(changed.body).toEqual(error);
  });

  it.each(['x'.repeat(9) + 'y', 'y'.repeat(64) + 'z'.repeat(64), 'Passwords 123', 'ßß ıİ Größenwahn'])(
    'can be %s',
    async (password) => {
      const email = `${randomUUID()}@example.org`;
      await post(service, 'sign-up/email', { email, name: 'Fine', password }).expect(200);
      await signIn(service, email, password).expect(200);
    },
  );

  it('may break the rules when it was chosen before them', async () => {
    const old = await signUp(service, 'old-password');
    await makeOutdated(service, old, 'password');
    await signIn(service, old.email, 'password').expect(200);
    const { body } = await signIn(service, old.email, 'password').expect(200);
    await change(service, body.token, { currentPassword: 'password' }).expect(200);
  });

  it('is refused when fields of the request have wrong types', async () => {
    const { session, email } = await signUp(service, 'typed');
    for (const more of [
      { newPassword: 7 },
      { currentPassword: null },
      { revokeOtherSessions: 'yes' },
      { revokeAccessTokens: 1 },
    ])
      await change(service, session, more).expect(400);
    await signIn(service, email, PASSWORD).expect(200);
  });
});

describe('a stored password', () => {
  let costly: TestService;
  beforeAll(async () => {
    costly = await startService({
      env: { TRUST_PROXY: 'true' },
      beside: service,
      passwordCost: new PasswordCost(),
    });
  });
  afterAll(() => costly.close());

  it('is hashed at the cost of 128 MiB, with its own salt', async () => {
    const [one, other] = [await signUp(costly, 'one-hash'), await signUp(costly, 'other-hash')];
    const [first, second] = [await hashOf(costly, one.id), await hashOf(costly, other.id)];
    expect(first).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{86}$/);
    expect(second.split('$')[3]).not.toBe(first.split('$')[3]);
    await signIn(costly, one.email, PASSWORD).expect(200);
    await signIn(costly, one.email, NEW_PASSWORD).expect(401);
  });

  itDeep('is rehashed from a lower cost when its user signs in, and only then', async () => {
    const old = await signUp(service, 'renewed-hash');
    const outdated = await makeOutdated(service, old);
    await signIn(costly, old.email, NEW_PASSWORD).expect(401);
    expect(await hashOf(service, old.id)).toBe(outdated);
    await signIn(costly, old.email, PASSWORD).expect(200);
    const renewed = await hashOf(service, old.id);
    expect(renewed).toMatch(/^\$scrypt\$ln=17,/);
    await signIn(costly, old.email, PASSWORD).expect(200);
    expect(await hashOf(service, old.id)).toBe(renewed);
  });
});

describe('a wrong password', () => {
  const scrypt = crypto.scrypt;
  /** The cost factors N of the hashes that are computed. */
  let costs: number[] = [];
  beforeAll(() => {
    crypto.scrypt = ((...args: Parameters<typeof scrypt>) => {
      costs.push(args[3].N!);
      scrypt(...args);
    }) as typeof scrypt;
    syncBuiltinESMExports();
  });
  afterAll(() => {
    crypto.scrypt = scrypt;
    syncBuiltinESMExports();
  });

  it('costs the same hash for an account with a current hash, an outdated hash, and no account', async () => {
    const ln = 13; // no other hash has this cost
    const measured = await startService({
      env: { TRUST_PROXY: 'true' },
      beside: service,
      passwordCost: new PasswordCost({ ln, r: 8, p: 2 }),
    });
    const [current, old] = [await signUp(measured, 'counted'), await signUp(measured, 'counted-old')];
    await makeOutdated(measured, old);
    for (const email of [current.email, old.email, 'counted-nobody@example.org']) {
      costs = [];
      await signIn(measured, email, 'not the password').expect(401);
      expect(costs.filter((cost) => cost === 2 ** ln)).toHaveLength(1);
    }
    await measured.close();
  });
});

describe('an outdated hash', () => {
  itDeep('is replaced by one of several sign-ins at once, and all of them succeed', async () => {
    for (let round = 0; round < 5; round++) {
      const old = await signUp(service, `renewed-at-once-${round}`);
      await makeOutdated(service, old);
      // All have verified the password, and wait for the account before they replace its hash.
      const held = await holdRow(service.database, 'auth_accounts', 'user_id', old.id);
      const answers = Array.from({ length: 4 }, (_, n) =>
        signIn(service, old.email, PASSWORD, `198.51.100.${n}`).then((answer) => answer),
      );
      await held.waiting(4);
      await held.release();
      for (const { status, body } of await Promise.all(answers)) {
        expect(status).toBe(200);
        await withSession(service, 'token', body.token).expect(200);
      }
      expect(await hashOf(service, old.id)).toMatch(/^\$scrypt/);
    }
  });

  it('does not fail a sign-in when another one replaces the hash before the session exists', async () => {
    const old = await signUp(service, 'renewed-between');
    await makeOutdated(service, old);
    const held = await holdRow(service.database, 'users', 'id', old.id);
    const answer = signIn(service, old.email, PASSWORD).then((one) => one);
    await held.waiting(1); // the password is verified, the session not yet created
    const renewed = await service.app.get(PasswordHasher, { strict: false }).hash(PASSWORD, 'x');
    await service.database.query('UPDATE auth_accounts SET password = $2 WHERE user_id = $1', [
      old.id,
      renewed,
    ]);
    await held.release();
    expect((await answer).status).toBe(200);
    expect(await hashOf(service, old.id)).toBe(renewed);
  });

  it('is not put back over a password that is changed meanwhile', async () => {
    const old = await signUp(service, 'renewed-over-change');
    await makeOutdated(service, old);
    const held = await holdRow(service.database, 'auth_accounts', 'user_id', old.id);
    const signedIn = signIn(service, old.email, PASSWORD).then((answer) => answer);
    await held.waiting(1); // to replace the hash
    const changed = change(service, old.session).then((answer) => answer);
    await held.waiting(2);
    await held.release();
    expect((await changed).status).toBe(200);
    expect((await signedIn).status).toBe(200); // it came first, and its session has ended with the others
    await withSession(service, 'token', (await signedIn).body.token).expect(401);
    await signIn(service, old.email, PASSWORD).expect(401);
    await signIn(service, old.email, NEW_PASSWORD).expect(200);
  });

  it('is not put back over a password whose change is committed before the renewal', async () => {
    const old = await signUp(service, 'renewed-after-change');
    await makeOutdated(service, old);
    const accounts = service.app.get(DataSource).getRepository(AuthAccount);
    const update = accounts.update.bind(accounts);
    const renewals: (() => void)[] = [];
    // The change itself is made with the repository of its transaction.
    jest.spyOn(accounts, 'update').mockImplementation(async (...values) => {
      await new Promise<void>((resolve) => renewals.push(resolve));
      return update(...values);
    });
    const signedIn = signIn(service, old.email, PASSWORD).then((answer) => answer);
    await eventually(() => expect(renewals).toHaveLength(1));
    await change(service, old.session).expect(200);
    renewals[0]!();
    await signedIn;
    jest.restoreAllMocks();
    await signIn(service, old.email, PASSWORD).expect(401);
    await signIn(service, old.email, NEW_PASSWORD).expect(200);
  });
});

describe('a change of the password', () => {
  it.each([{}, { revokeOtherSessions: false }, { revokeOtherSessions: true }])(
    'ends all other sessions and their one-time tokens, with %j',
    async (more) => {
      const { id, email, session } = await signUp(service, randomUUID());
      const { body: thief } = await signIn(service, email, PASSWORD).expect(200);
      const handedOver = await withSession(service, 'one-time-token/generate', thief.token).expect(200);
      const { body } = await change(service, session, more).expect(200);
      expect(body).toMatchObject({ user: { id, email } });

      await withSession(service, 'token', thief.token).expect(401);
      await post(service, 'one-time-token/verify', { token: handedOver.body.token }).expect(400);
      expect(await service.database.query('SELECT FROM auth_verifications')).toEqual([]);
      const isRenewed = 'revokeOtherSessions' in more && more.revokeOtherSessions;
      expect(body.token === null).toBe(!isRenewed);
      await withSession(service, 'token', session).expect(isRenewed ? 401 : 200);
      if (isRenewed) await withSession(service, 'token', body.token).expect(200);
    },
  );

  it('keeps access tokens unless it is asked to revoke them', async () => {
    const { id, email, session } = await signUp(service, 'tokened');
    const other = await signUp(service, 'tokened-too');
    const jwt = async (of: string): Promise<string> =>
      String((await withSession(service, 'token', of).expect(200)).body.token);
    const mint = async ({ session: of }: Pick<Somebody, 'session'>): Promise<string> => {
      const minting = supertest(service.url).post('/api/v1/auth/tokens').send({ name: 'script' });
      const { body } = await minting.set('Authorization', `Bearer ${await jwt(of)}`).expect(201);
      return String(body.token);
    };
    const me = (token: string): supertest.Test =>
      supertest(service.url).get('/api/v1/auth/me').set('Authorization', `Bearer ${token}`);
    const [token, kept] = [await mint({ session }), await mint(other)];
    await change(service, session).expect(200);
    await me(token).expect(200);
    const back = { currentPassword: NEW_PASSWORD, newPassword: PASSWORD, revokeAccessTokens: true };
    await change(service, session, { ...back, currentPassword: 'not the password' }).expect(400);
    await me(token).expect(200);
    await change(service, session, back).expect(200);
    await me(token).expect(401);
    await me(kept).expect(200);
    expect([id, email]).not.toContain(undefined);
  });

  it('succeeds for one of two concurrent requests with the same old password', async () => {
    const { id, email, session } = await signUp(service, 'changed-twice');
    const { body: other } = await signIn(service, email, PASSWORD).expect(200);
    const held = await holdRow(service.database, 'users', 'id', id);
    const changes = [session, other.token].map((of, n) =>
      change(service, of, { newPassword: `${NEW_PASSWORD} ${n}` }, `198.51.100.${n}`).then((one) => one),
    );
    await held.waiting(2);
    await held.release();
    expect((await Promise.all(changes)).map(({ status }) => status).sort()).toEqual([200, 401]);
    expect(await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [id])).toHaveLength(
      1,
    );
  });
});

describe('an account that is being deleted', () => {
  /** Commits the deletion once `work` waits for it. */
  async function whileDeleting<T>(id: string, work: () => PromiseLike<T>): Promise<T> {
    const deleting = new pg.Client({ connectionString: service.database.url });
    await deleting.connect();
    await deleting.query('BEGIN');
    await deleting.query('DELETE FROM users WHERE id = $1', [id]);
    const answer = Promise.resolve(work());
    await service.database.eventually(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    await deleting.query('COMMIT');
    await deleting.end();
    return answer;
  }

  it('fails a concurrent sign-in with 401', async () => {
    const { id, email } = await signUp(service, 'deleted-beside');
    const answer = await whileDeleting(id, () => signIn(service, email, PASSWORD));
    expect([answer.status, answer.body]).toEqual([401, { error: 'a valid bearer token is required' }]);
  });

  it('fails a concurrent change of the password with 401', async () => {
    const { id, session } = await signUp(service, 'deleted-beside-change');
    expect((await whileDeleting(id, () => change(service, session))).status).toBe(401);
  });

  it('fails a concurrent handoff with a foreign key violation', async () => {
    const { id, session } = await signUp(service, 'deleted-beside-handoff');
    const sessions = service.app.get(BrowserSessions, { strict: false });
    const client = { ip: '198.51.100.1', userAgent: '' };
    const handedOver = whileDeleting(id, () =>
      sessions.handOver({ userId: id, token: session }, client).catch((error: unknown) => error),
    );
    expect(await handedOver).toMatchObject({ constraint: 'auth_sessions_user_id_fkey' });
  });
});

describe('hashing', () => {
  const hasher = (): PasswordHasher => service.app.get(PasswordHasher, { strict: false });

  /** Takes all slots; resolves with their release. */
  async function takeSlots(refused: () => void = () => undefined): Promise<() => void> {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let taken = 0;
    for (let n = 0; n < 2; n++)
      void hasher()
        .inSlot(`203.0.113.${n}`, async () => {
          taken++;
          await released;
        })
        .catch(refused);
    await eventually(() => expect(taken).toBeGreaterThan(0));
    return release;
  }

  it('holds no connection while it waits: sessions are served, and no transaction is open', async () => {
    const { session } = await signUp(service, 'served-meanwhile');
    const release = await takeSlots();
    const queued = hasher().queued;
    const signUps = Array.from({ length: 8 }, (_, n) =>
      post(
        service,
        'sign-up/email',
        { email: `waits-${n}@example.org`, name: 'Waits', password: PASSWORD },
        `198.51.100.${n}`,
      ).then(({ status }) => status),
    );
    await eventually(() => expect(hasher().queued).toBe(queued + 8));
    expect(
      await service.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      ),
    ).toEqual([]);
    await withSession(service, 'token', session).expect(200);
    release();
    expect(new Set(await Promise.all(signUps))).toEqual(new Set([200]));
  });

  it('is skipped for a client that has disconnected while it waited', async () => {
    const refused = jest.fn(); // earlier calls, which leave the queue first when all time out
    const release = await takeSlots(refused);
    const earlier = hasher()
      .inSlot('198.51.100.76', () => Promise.resolve())
      .catch(refused);
    const before = hasher().queued;
    const gone = signIn(service, 'nobody@example.org', 'not the password', '198.51.100.77');
    gone.end(() => undefined);
    await eventually(() => expect(hasher().queued).toBe(before + 1));
    gone.abort();
    await eventually(() => expect(hasher().queued).toBe(before));
    expect(refused).not.toHaveBeenCalled();
    release();
    await earlier;
  });

  /** Takes the only slot of a network; resolves with its release. */
  async function holdSlotOf(ip: string): Promise<() => void> {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let isHeld = false;
    const held = hasher().inSlot(ip, () => {
      isHeld = true;
      return released;
    });
    await eventually(() => expect(isHeld).toBe(true));
    return () => {
      release();
      void held;
    };
  }

  it('queues 20 concurrent sign-ins from one address without refusing any', async () => {
    const address = '198.51.100.20';
    const release = await holdSlotOf(address);
    const before = hasher().queued;
    const signIns = Array.from({ length: 20 }, () =>
      signIn(service, 'nobody@example.org', 'not the password', address).then(({ status }) => status),
    );
    await eventually(() => expect(hasher().queued).toBe(before + 20));
    release();
    expect(new Set(await Promise.all(signIns))).toEqual(new Set([401]));
  });

  it('is refused with Retry-After when too many wait; one network does not keep out others', async () => {
    const release = await takeSlots();
    const waiting = (): supertest.Test =>
      signIn(service, 'nobody@example.org', 'not the password', '2001:db8:1::1');
    const before = hasher().queued;
    const { waiting: most, perOwner } = HASHING_LIMITS;
    const fitting = Math.min(perOwner.waiting, most - before);
    const answers: number[] = [];
    const own = Array.from({ length: fitting }, () => waiting().then(({ status }) => answers.push(status)));
    await eventually(() => expect(hasher().queued).toBe(before + fitting));
    const refused = await signIn(service, 'nobody@example.org', 'not the password', '2001:db8:1:2::3');
    expect(refused.status).toBe(503);
    expect(refused.body).toEqual({ error: expect.stringContaining('try again') });
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d?$/);
    expect(answers).toEqual([]);
    const other = signIn(service, 'nobody@example.org', 'x', '2001:db8:2::1').then(({ status }) => status);
    // When the queue is full, it replaces a waiting call.
    await eventually(() => expect(hasher().queued + answers.length).toBe(before + fitting + 1));
    const replaced = answers.length;
    expect(replaced).toBe(before + fitting === most ? 1 : 0);
    release();
    expect(await other).toBe(401);
    await Promise.all(own);
    expect(answers.filter((status) => status === 503)).toHaveLength(replaced);
    expect(answers.filter((status) => status === 401)).toHaveLength(fitting - replaced);
  });

  itDeep('does not delay session tokens and the key set during sign-ins from 150 networks', async () => {
    const costly = await startService({
      env: { TRUST_PROXY: 'true' },
      passwordCost: new PasswordCost({ ln: 15, r: 8, p: 1 }),
    });
    const { session } = await signUp(costly, 'refreshes');
    let hashed = 0;
    let refused = 0;
    const signIns = Array.from({ length: 150 }, (_, n) =>
      signIn(costly, `nobody-${n}@example.org`, 'not the password', `192.0.2.${n}`).then(({ status }) => {
        if (status === 503) refused++;
        else hashed++;
      }),
    );
    await eventually(() => expect(hashed).toBeGreaterThan(0));
    await withSession(costly, 'token', session).expect(200);
    await supertest(costly.url).get('/api/auth/jwks').expect(200);
    const hashedMeanwhile = hashed;
    await Promise.all(signIns);
    expect(refused).toBeGreaterThanOrEqual(30); // 90 and more on a machine at rest
    expect(hashedMeanwhile).toBeLessThan(hashed);
    await costly.close();
  });
});

describe('limits of sign-ins', () => {
  let limited: TestService;
  let beside: TestService;
  beforeAll(async () => {
    const env = { RATE_LIMIT_PER_MINUTE: '100000', TRUST_PROXY: 'true' };
    limited = await startService({ env });
    beside = await startService({ env, beside: limited });
    limited.clock.stopAt(new Date(Date.now() - (Date.now() % 60_000) + 20_000));
  });
  afterAll(async () => {
    await beside.close();
    await limited.close();
  });

  let network = 0;
  /** An address that has not been used before. */
  const stranger = (): string => `10.${++network >> 8}.${network & 255}.1`;

  async function guess(email: string, times: number): Promise<number[]> {
    const statuses = [];
    for (let n = 0; n < times; n++)
      statuses.push((await signIn([limited, beside][n % 2]!, email, 'not the password', stranger())).status);
    return statuses;
  }

  const WRONG = Array<number>(20).fill(401);

  it('make new clients of one account wait after 20 wrong passwords an hour, not known ones', async () => {
    const { email } = await signUp(limited, 'guessed', '203.0.113.1');
    expect(await guess(email, 20)).toEqual(WRONG);
    const refused = await signIn(beside, email.toUpperCase(), PASSWORD, stranger());
    expect([refused.status, refused.body]).toEqual([429, { error: 'too many requests' }]);
    expect(refused.headers['retry-after']).toBe('3600');
    await signIn(beside, email, PASSWORD, '203.0.113.1').expect(200);
    await signIn(limited, email, 'a slip', '203.0.113.1').expect(401);
    await signIn(limited, email, PASSWORD, stranger()).expect(429);

    limited.clock.advance(HOUR_MS - 1);
    await signIn(limited, email, PASSWORD, stranger()).expect(429);
    limited.clock.advance(1);
    const moved = stranger();
    await signIn(limited, email, PASSWORD, moved).expect(200);
    expect(await guess(email, 20)).toEqual(WRONG);
    await signIn(beside, email, PASSWORD, stranger()).expect(429);
    await signIn(beside, email, PASSWORD, moved).expect(200); // a known network by now
  });

  it('do not reveal whether an account exists', async () => {
    const { email } = await signUp(limited, 'told-apart', stranger());
    const answers = [];
    for (const one of [email, 'nobody-there@example.org']) {
      const statuses = await guess(one, 22);
      const refused = await signIn(limited, one, PASSWORD, stranger());
      answers.push([statuses, refused.status, refused.text, refused.headers['retry-after']]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]![0]).toEqual([...WRONG, 429, 429]);
  });

  it('allow at most 20 of 60 concurrent guesses', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        signIn([limited, beside][n % 2]!, 'at-once@example.org', 'not the password', stranger()).then(
          ({ status }) => status,
        ),
      ),
    );
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(20);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
  });

  itDeep('count only wrong passwords, not right ones or malformed requests', async () => {
    const { email } = await signUp(limited, 'rightly', stranger());
    for (let n = 0; n < 25; n++) await signIn(limited, email, PASSWORD, stranger()).expect(200);
    for (let n = 0; n < 25; n++) await signIn(limited, email, 'x'.repeat(129), stranger()).expect(400);
    expect(await guess(email, 21)).toEqual([...WRONG, 429]);
  });

  itDeep('count wrong passwords of a change, apart from the failed sign-ins of strangers', async () => {
    const home = stranger();
    const { email, session } = await signUp(limited, 'changing', home);
    expect(await guess(email, 20)).toEqual(WRONG);
    await change(limited, session, { currentPassword: 'not it' }, stranger()).expect(400);
    await change(limited, session, {}, stranger()).expect(200);

    const thief = await signUp(limited, 'robbed', home);
    for (let n = 0; n < 20; n++)
      await change(limited, thief.session, { currentPassword: 'not it' }, stranger()).expect(400);
    await change(limited, thief.session, {}, stranger()).expect(429);
    await signIn(limited, thief.email, PASSWORD, stranger()).expect(429);
    await signIn(limited, thief.email, PASSWORD, home).expect(200);
  });

  it('are 30 a minute for an IPv6 /48, beside 10 for a /64', async () => {
    const from = (address: string): Promise<number> =>
      Promise.resolve(signIn(limited, `${randomUUID()}@example.org`, 'not the password', address)).then(
        ({ status }) => status,
      );
    const statuses = [];
    for (let n = 0; n < 31; n++) statuses.push(await from(`2001:db8:7:${n % 16}::${n}`));
    expect(statuses).toEqual([...Array<number>(30).fill(401), 429]);
    expect(await from('2001:db8:8::1')).toBe(401);
  });

  it('leave no expired counts and networks after the nightly job', async () => {
    const { id } = await signUp(limited, 'forgotten', stranger());
    await guess('forgotten@example.org', 2);
    limited.app.get(ExpiredRows, { strict: false });
    limited.clock.advance(HOUR_MS + 1);
    await limited.app.get(NightlyJobs, { strict: false }).run();
    expect(await limited.database.query('SELECT FROM wrong_passwords')).toEqual([]);
    const known = (): Promise<unknown[]> =>
      limited.database.query('SELECT FROM known_networks WHERE user_id = $1', [id]);
    expect(await known()).toHaveLength(1);
    limited.clock.advance(90 * DAY_MS);
    await limited.app.get(NightlyJobs, { strict: false }).run();
    expect(await known()).toEqual([]);
  });

  itDeep('remember the last 50 networks of a user', async () => {
    const { id, email } = await signUp(limited, 'traveller', stranger());
    for (let n = 0; n < 60; n++) {
      limited.clock.advance(1);
      await signIn(limited, email, PASSWORD, stranger()).expect(200);
    }
    const known = await limited.database.query<{ network: string }>(
      'SELECT network FROM known_networks WHERE user_id = $1 ORDER BY last_seen_at DESC',
      [id],
    );
    expect(known).toHaveLength(50);
    expect(known[0]).toEqual({ network: `network:10.${network >> 8}.${network & 255}.1` });
  });
});

describe('an account without a password', () => {
  it('cannot be given one by a change', async () => {
    const user = await TestUser.logIn(service.url, 'passwordless');
    const { internalAdapter } = await identityContext();
    const { token } = await internalAdapter.createSession(user.id);
    const { body } = await change(service, token).expect(400);
    expect(body.code).toBe('CREDENTIAL_ACCOUNT_NOT_FOUND');
  });

  async function identityContext(): Promise<{
    internalAdapter: { createSession(userId: string): Promise<{ token: string }> };
  }> {
    const { IDENTITY } = await import('../../../src/domain/auth/identity.provider.js');
    return service.app.get<{ $context: ReturnType<typeof identityContext> }>(IDENTITY, { strict: false })
      .$context;
  }
});
