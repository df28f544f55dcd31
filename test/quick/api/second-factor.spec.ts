import { randomUUID } from 'node:crypto';
import { Secret, TOTP, URI } from 'otpauth';
import supertest from 'supertest';
import { PendingSignIns } from '../../../src/domain/auth/factors/index.js';
import { identityRequests } from '../../../src/domain/auth/identity-request.js';
import { Suspensions } from '../../../src/domain/auth/index.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { waitPatiently } from '../../kit/patient-locks.js';

const PASSWORD = 'correct horse battery staple';
const STEP_MS = 30_000;
const QUARTER_MS = 15 * 60_000;

let service: TestService;
let other: TestService;
beforeAll(async () => {
  service = await startService();
  other = await startService({ beside: service });
  await waitPatiently(service);
});
afterAll(async () => {
  await other.close();
  await service.close();
});

const post = (action: string, body: object, at = service): supertest.Test =>
  supertest(at.url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body);

const bySession = (session: string, action: string, body: object = {}, at = service): supertest.Test =>
  post(action, body, at).set('Authorization', `Bearer ${session}`);

interface Somebody {
  readonly id: string;
  readonly email: string;
  readonly session: string;
}

async function signUp(): Promise<Somebody> {
  const name = randomUUID();
  const email = `${name}@example.org`;
  const { body } = await post('sign-up/email', { email, name, password: PASSWORD }).expect(200);
  return { id: body.user.id, email, session: body.token };
}

interface Protected extends Somebody {
  readonly totp: TOTP;
  readonly backupCodes: readonly string[];
}

/** A second implementation of TOTP computes the codes. */
const codeOf = (totp: TOTP, afterMs = 0): string =>
  totp.generate({ timestamp: service.clock.now().getTime() + afterMs });

/** A user with a second factor. The code that turned it on is used, so the clock moves to the next step. */
async function protectedUser(): Promise<Protected> {
  const somebody = await signUp();
  const { body } = await bySession(somebody.session, 'two-factor/enable').expect(200);
  const totp = URI.parse(body.totpURI) as TOTP;
  const answer = await bySession(somebody.session, 'two-factor/verify-totp', { code: codeOf(totp) }).expect(
    200,
  );
  service.clock.advance(STEP_MS);
  return { ...somebody, totp, backupCodes: answer.body.backupCodes };
}

async function pendingSignIn({ email }: Somebody, at = service): Promise<string> {
  const answer = await post('sign-in/email', { email, password: PASSWORD }, at).expect(200);
  expect(answer.body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ['totp'] });
  const [cookie] = (answer.get('Set-Cookie') ?? []).filter((one) => one.includes('two_factor='));
  return cookie!.split(';')[0]!;
}

const enter = (cookie: string, code: string, at = service, kind = 'verify-totp'): supertest.Test =>
  post(`two-factor/${kind}`, { code }, at).set('Cookie', cookie);

const sessionsOf = async ({ id }: Somebody): Promise<number> =>
  (await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [id])).length;

const auditOf = async ({ id }: Somebody): Promise<string[]> =>
  (
    await service.database.query<{ action: string }>(
      `SELECT action FROM audit_events WHERE user_id = $1 AND action LIKE 'factor.%' ORDER BY id`,
      [id],
    )
  ).map(({ action }) => action);

describe('setting up the second factor', () => {
  it('is finished by a first code, gives ten backup codes and is recorded', async () => {
    const somebody = await signUp();
    const { body } = await bySession(somebody.session, 'two-factor/enable').expect(200);
    expect(body).toEqual({ method: 'totp', totpURI: expect.stringMatching(/^otpauth:\/\/totp\/localhost:/) });
    const totp = URI.parse(body.totpURI) as TOTP;
    expect([totp.algorithm, totp.digits, totp.period, totp.label]).toEqual(['SHA1', 6, 30, somebody.email]);
    expect(totp.secret).toHaveProperty('base32', expect.stringMatching(/^[A-Z2-7]{32}$/));
    await post('sign-in/email', { email: somebody.email, password: PASSWORD }).expect(200, /"token"/);

    const answer = await bySession(somebody.session, 'two-factor/verify-totp', { code: codeOf(totp) });
    expect(answer.status).toBe(200);
    expect(new Set(answer.body.backupCodes).size).toBe(10);
    expect(answer.body.user.twoFactorEnabled).toBe(true);
    expect(await auditOf(somebody)).toEqual(['factor.added']);
    await pendingSignIn(somebody);
  });

  it('refuses a wrong code, and a code of a secret that was replaced', async () => {
    const somebody = await signUp();
    const first = await bySession(somebody.session, 'two-factor/enable').expect(200);
    const second = await bySession(somebody.session, 'two-factor/enable').expect(200);
    const [old, current] = [first, second].map(({ body }) => URI.parse(body.totpURI) as TOTP);
    const verify = (code: string): supertest.Test =>
      bySession(somebody.session, 'two-factor/verify-totp', { code });
    for (const code of [codeOf(old!), '000000', '', codeOf(current!).slice(1), `${codeOf(current!)}0`])
      await verify(code).expect(401);
    expect(await auditOf(somebody)).toEqual([]);
  });

  it('needs the password once the sign-in is not recent', async () => {
    const { session } = await signUp();
    service.clock.advance(10 * 60_000 + 1);
    await bySession(session, 'two-factor/enable').expect(403, /recent sign-in required/);
    await bySession(session, 'two-factor/enable', { password: 'not this one' }).expect(
      400,
      /INVALID_PASSWORD/,
    );
    await bySession(session, 'two-factor/enable', { password: 1 }).expect(400, /must be text/);
    await bySession(session, 'two-factor/enable', { password: PASSWORD }).expect(200);
    await bySession(session, 'two-factor/enable').expect(200); // the password was given just now
  });

  it('is refused while a factor is on, and without a session', async () => {
    const { session } = await protectedUser();
    await bySession(session, 'two-factor/enable').expect(400, /TOTP_ALREADY_ENABLED/);
    await post('two-factor/enable', { password: PASSWORD }).expect(401);
  });

  it('stores neither the secret nor the backup codes as they are', async () => {
    const { id, totp, backupCodes } = await protectedUser();
    const [row] = await service.database.query<{ text: string }>(
      'SELECT f::text AS text FROM auth_two_factors f WHERE user_id = $1',
      [id],
    );
    for (const secret of [totp.secret.base32, totp.secret.hex, ...backupCodes])
      expect(row!.text).not.toContain(secret);
  });
});

describe('a sign-in with a second factor', () => {
  it('can be completed without an Origin by a program that also has cookies of another session', async () => {
    const user = await protectedUser();
    const earlier = await post('sign-up/email', {
      email: `${randomUUID()}@example.org`,
      name: 'Earlier',
      password: PASSWORD,
    }).expect(200);
    const jar = (earlier.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]!);
    const asProgram = (action: string, body: object): supertest.Test =>
      supertest(service.url).post(`/api/auth/${action}`).set('Cookie', jar.join('; ')).send(body);
    const answer = await asProgram('sign-in/email', { email: user.email, password: PASSWORD }).expect(200);
    expect(answer.body).toMatchObject({ twoFactorRedirect: true });
    jar.push(...(answer.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]!));
    const { body } = await asProgram('two-factor/verify-totp', { code: codeOf(user.totp) }).expect(200);
    expect(body).toMatchObject({ user: { id: user.id }, token: expect.any(String) as string });
  });

  it('begins a session only after the code', async () => {
    const user = await protectedUser();
    const before = await sessionsOf(user);
    const cookie = await pendingSignIn(user);
    expect(await sessionsOf(user)).toBe(before);
    await supertest(service.url).get('/api/auth/token').set('Cookie', cookie).expect(401);
    await supertest(service.url).get('/api/auth/one-time-token/generate').set('Cookie', cookie).expect(401);

    const { body } = await enter(cookie, codeOf(user.totp)).expect(200);
    expect(body).toMatchObject({ token: expect.any(String), user: { id: user.id } });
    await supertest(service.url)
      .get('/api/auth/token')
      .set('Authorization', `Bearer ${body.token}`)
      .expect(200);
  });

  it('accepts the codes of the current step and its neighbours, and no others', async () => {
    const user = await protectedUser();
    const now = service.clock.now().getTime();
    service.clock.stopAt(new Date(now - (now % STEP_MS) + 2 * STEP_MS)); // the first moment of a step
    for (const afterMs of [-STEP_MS - 1, 2 * STEP_MS])
      await enter(await pendingSignIn(user), codeOf(user.totp, afterMs)).expect(401);
    await enter(await pendingSignIn(user), codeOf(user.totp, -1)).expect(200);
    await enter(await pendingSignIn(user), codeOf(user.totp)).expect(200);
    service.clock.advance(STEP_MS - 1); // the last moment
    await enter(await pendingSignIn(user), codeOf(user.totp, STEP_MS)).expect(200);
    service.clock.resume();
    service.clock.advance(3 * STEP_MS);
  });

  it('accepts no code twice, nor an older one after it, on any instance', async () => {
    const user = await protectedUser();
    const [older, code] = [codeOf(user.totp), codeOf(user.totp, STEP_MS)];
    await enter(await pendingSignIn(user), code).expect(200);
    await enter(await pendingSignIn(user, other), code, other).expect(401, /INVALID_CODE/);
    await enter(await pendingSignIn(user), older).expect(401, /INVALID_CODE/);
  });

  it.each(['verify-totp', 'verify-backup-code'])(
    '%s accepts a code once when it is entered fifty times at once',
    async (kind) => {
      const user = await protectedUser();
      const code = kind === 'verify-totp' ? codeOf(user.totp) : user.backupCodes[0]!;
      const cookies = await Promise.all(Array.from({ length: 10 }, () => pendingSignIn(user)));
      const before = await sessionsOf(user);
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) => enter(cookies[at % 10]!, code, at % 2 ? other : service, kind)),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(await sessionsOf(user)).toBe(before + 1);
    },
  );

  it('is completed only once, even with another valid code', async () => {
    const user = await protectedUser();
    const cookie = await pendingSignIn(user);
    await enter(cookie, codeOf(user.totp)).expect(200);
    await enter(cookie, codeOf(user.totp, STEP_MS)).expect(401);
  });

  it('waits ten minutes for the code', async () => {
    const user = await protectedUser();
    const cookie = await pendingSignIn(user);
    service.clock.advance(10 * 60_000 + 1_000);
    await enter(cookie, codeOf(user.totp)).expect(401, /INVALID_TWO_FACTOR_COOKIE/);
  });

  it('accepts each backup code once, however it is written', async () => {
    const user = await protectedUser();
    const [first = '', second = ''] = user.backupCodes;
    await enter(await pendingSignIn(user), first, service, 'verify-backup-code').expect(200);
    await enter(await pendingSignIn(user), first, service, 'verify-backup-code').expect(401);
    const spelled = ` ${second.replace('-', ' ').toUpperCase()} `;
    await enter(await pendingSignIn(user), spelled, service, 'verify-backup-code').expect(200);
  });

  it('ends with 429 after five wrong codes on two instances, for a quarter of an hour', async () => {
    const user = await protectedUser();
    const cookie = await pendingSignIn(user);
    for (const at of [service, other, service, other, service]) await enter(cookie, '000000', at).expect(401);
    const refused = await enter(cookie, codeOf(user.totp), other).expect(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await enter(cookie, user.backupCodes[0]!, service, 'verify-backup-code').expect(429);
    // An existing session is not affected.
    await bySession(user.session, 'two-factor/verify-totp', { code: codeOf(user.totp) }).expect(200);
    service.clock.advance(QUARTER_MS + STEP_MS);
    await enter(await pendingSignIn(user), codeOf(user.totp)).expect(200);
  });

  it('cannot be blocked without the password', async () => {
    const user = await protectedUser();
    for (let at = 0; at < 6; at++) {
      await post('sign-in/email', { email: user.email, password: 'not this one' }).expect(401);
      await enter('better-auth.two_factor=2fa-guess.c2ln', '000000').expect(401, /INVALID_TWO_FACTOR_COOKIE/);
    }
    await enter(await pendingSignIn(user), codeOf(user.totp)).expect(200);
  });

  it('does not accept the cookie of a session in place of its own', async () => {
    const user = await protectedUser();
    const answer = await enter(await pendingSignIn(user), codeOf(user.totp)).expect(200);
    const [session = ''] = (answer.get('Set-Cookie') ?? []).filter((one) => one.includes('session_token='));
    const value = /session_token=([^;]+)/.exec(session)![1]!;
    await enter(`better-auth.two_factor=${value}`, codeOf(user.totp, STEP_MS)).expect(401, /INVALID_TWO/);
  });

  it('refuses the code when the stored secret is unreadable, as after a change of AUTH_SECRET', async () => {
    const user = await protectedUser();
    await service.database.query("UPDATE auth_two_factors SET secret = 'unreadable' WHERE user_id = $1", [
      user.id,
    ]);
    await enter(await pendingSignIn(user), codeOf(user.totp)).expect(401, /INVALID_CODE/);
  });

  it('is refused for a suspended account', async () => {
    const user = await protectedUser();
    const cookie = await pendingSignIn(user);
    await service.app.get(Suspensions).suspend(user.id);
    const before = await sessionsOf(user);
    await enter(cookie, codeOf(user.totp)).expect(403, /the account is suspended/);
    expect(await sessionsOf(user)).toBe(before);
  });

  it('ends with a change of the password', async () => {
    const user = await protectedUser();
    const cookie = await pendingSignIn(user);
    const change = { currentPassword: PASSWORD, newPassword: 'another battery staple' };
    await bySession(user.session, 'change-password', change).expect(200);
    await enter(cookie, codeOf(user.totp)).expect(401, /INVALID_TWO_FACTOR_COOKIE/);
    const answer = await post('sign-in/email', { email: user.email, password: change.newPassword }).expect(
      200,
    );
    expect(answer.body).toHaveProperty('twoFactorRedirect', true); // the factor stays
  });

  it('does not wait for a code when the password is changed meanwhile', async () => {
    const user = await protectedUser();
    const identifier = `2fa-${randomUUID()}`;
    await service.database.query(
      `INSERT INTO auth_verifications (identifier, value, expires_at, created_at, updated_at)
       VALUES ($1, $2, now() + interval '1 hour', now(), now())`,
      [identifier, user.id],
    );
    const request = {
      ip: '',
      gone: new AbortController().signal,
      isSignIn: true,
      mayBeginSession: true,
      isWrong: false,
    };
    const check = (): Promise<void> =>
      identityRequests.run({ ...request, hashes: new Set(['the hash of the old password']) }, () =>
        service.app.get(PendingSignIns).check({ identifier, value: user.id }),
      );
    await expect(check()).rejects.toThrow('Invalid email or password');
    const rows = await service.database.query('SELECT FROM auth_verifications WHERE identifier = $1', [
      identifier,
    ]);
    expect(rows).toHaveLength(0);
  });

  it('adds its network to the known ones only after the code', async () => {
    const user = await protectedUser();
    await service.database.query('DELETE FROM known_networks WHERE user_id = $1', [user.id]);
    const networks = (): Promise<unknown[]> =>
      service.database.query('SELECT FROM known_networks WHERE user_id = $1', [user.id]);
    const cookie = await pendingSignIn(user);
    expect(await networks()).toHaveLength(0);
    await enter(cookie, codeOf(user.totp)).expect(200);
    expect(await networks()).toHaveLength(1);
  });
});

describe('a session with a second factor', () => {
  it('counts as recent after a code, which cannot be used again', async () => {
    const user = await protectedUser();
    service.clock.advance(10 * 60_000 + 1);
    await bySession(user.session, 'two-factor/disable').expect(403);
    const code = codeOf(user.totp);
    await bySession(user.session, 'two-factor/verify-totp', { code }).expect(200);
    await bySession(user.session, 'two-factor/verify-totp', { code }).expect(401);
    await bySession(user.session, 'two-factor/disable').expect(200);
  });

  it('can get new backup codes, which replace the old ones', async () => {
    const user = await protectedUser();
    const { body } = await bySession(user.session, 'two-factor/generate-backup-codes').expect(200);
    await enter(await pendingSignIn(user), user.backupCodes[0]!, service, 'verify-backup-code').expect(401);
    await enter(await pendingSignIn(user), body.backupCodes[0], service, 'verify-backup-code').expect(200);
    expect(await auditOf(user)).toEqual(['factor.added', 'factor.codes-renewed']);
  });

  it('can turn the factor off; then the password is enough', async () => {
    const user = await protectedUser();
    await bySession(user.session, 'two-factor/disable').expect(200, { status: true });
    await bySession(user.session, 'two-factor/disable').expect(400, /TWO_FACTOR_NOT_ENABLED/);
    await bySession(user.session, 'two-factor/generate-backup-codes').expect(400, /TWO_FACTOR_NOT_ENABLED/);
    await post('sign-in/email', { email: user.email, password: PASSWORD }).expect(200, /"token"/);
    expect(await auditOf(user)).toEqual(['factor.added', 'factor.removed']);
  });
});

it('the TOTP implementation of these tests computes the codes of RFC 6238', () => {
  const totp = new TOTP({ secret: Secret.fromUTF8('12345678901234567890'), digits: 8 });
  expect(totp.generate({ timestamp: 59_000 })).toBe('94287082');
});
