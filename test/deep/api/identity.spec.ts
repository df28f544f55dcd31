import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader, exportSPKI, importJWK, type JWK, SignJWT } from 'jose';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { AuditLog } from '../../../src/domain/auth/audit/index.js';
import { SigningKeys } from '../../../src/domain/auth/index.js';
import { SigningKey } from '../../../src/domain/auth/auth.entities.js';
import { TokenWatch } from '../../../src/domain/realtime/token-watch.js';
import {
  BASE_URL,
  begunRequest,
  createDatabase,
  DEV_LOGIN_KEY,
  holdRow,
  startService,
  type TestService,
  TestSocket,
} from '../../kit/index.js';
import { giveFactor } from '../../kit/administrators.js';
import { waitPatiently } from '../../kit/patient-locks.js';
import { sendRaw } from '../../kit/raw-http.js';

const PASSWORD = 'correct horse battery staple';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DAY_MS = 24 * 60 * 60_000;

let service: TestService;
beforeAll(async () => {
  service = await startService();
  await waitPatiently(service);
});
afterAll(() => service.close());

/** A browser with a session: every request carries its cookie and its origin. */
class Browser {
  constructor(
    readonly userId: string,
    readonly email: string,
    readonly cookie: string,
    readonly sessionToken: string,
    readonly url = service.url,
  ) {}

  static async signUp(name: string): Promise<Browser> {
    const email = `${name}@example.org`;
    const answer = await signUp({ email, name, password: PASSWORD }).expect(200);
    return new Browser(answer.body.user.id, email, cookieOf(answer), answer.body.token);
  }

  get(path: string): supertest.Test {
    return supertest(this.url).get(`/api/auth/${path}`).set('Cookie', this.cookie).set('Origin', BASE_URL);
  }
  post(path: string): supertest.Test {
    return supertest(this.url).post(`/api/auth/${path}`).set('Cookie', this.cookie).set('Origin', BASE_URL);
  }
  async oneTimeToken(): Promise<string> {
    return String((await this.get('one-time-token/generate').expect(200)).body.token);
  }
  async jwt(): Promise<string> {
    return String((await this.get('token').expect(200)).body.token);
  }
}

function auth(method: 'get' | 'post', path: string, at = service): supertest.Test {
  return supertest(at.url)[method](`/api/auth/${path}`).set('Origin', BASE_URL);
}

function signUp(body: object, at = service): supertest.Test {
  return auth('post', 'sign-up/email', at).send(body);
}

function signIn(email: string, password: string, at = service): supertest.Test {
  return auth('post', 'sign-in/email', at).send({ email, password });
}

function cookieOf(answer: supertest.Response): string {
  return (answer.get('Set-Cookie') ?? []).map((cookie) => cookie.split(';')[0]).join('; ');
}

function devLogin(body: unknown, key = DEV_LOGIN_KEY, at = service): supertest.Test {
  return supertest(at.url)
    .post('/api/v1/auth/dev-login')
    .set('X-Dev-Login-Key', key)
    .set('Content-Type', 'application/json')
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

function me(token: string, at = service): supertest.Test {
  return supertest(at.url).get('/api/v1/auth/me').set('Authorization', `Bearer ${token}`);
}

/** Expects a complete 401: a flat error that names the scheme. */
function expectUnauthorized(answer: supertest.Response): void {
  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toBe('Bearer');
  expect(answer.body).toEqual({ error: 'a valid bearer token is required' });
}

describe('POST /api/auth/sign-up/email', () => {
  it('creates a user with a UUID, a session and an HttpOnly cookie', async () => {
    const answer = await signUp({ email: 'New@Example.org', name: 'New', password: PASSWORD }).expect(200);
    expect(answer.body.user).toMatchObject({
      id: expect.stringMatching(UUID),
      email: 'new@example.org',
      name: 'New',
    });
    expect(answer.body.token).toEqual(expect.any(String));
    expect(answer.get('Set-Cookie')?.[0]).toMatch(/;\s*HttpOnly/i);
    expect(answer.get('Set-Cookie')?.[0]).toMatch(/;\s*SameSite=Lax/i);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('stores no password, only its hash', async () => {
    const { userId } = await Browser.signUp('hashed');
    const [account] = await service.database.query('SELECT password FROM auth_accounts WHERE user_id = $1', [
      userId,
    ]);
    expect(account!.password).toMatch(/^\$scrypt\$ln=\d+,r=\d+,p=\d+\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{86}$/);
    expect(account!.password).not.toContain(PASSWORD);
  });

  it('takes no id, verification or time from the request', async () => {
    const id = randomUUID();
    const smuggled = {
      id,
      userId: id,
      emailVerified: true,
      createdAt: '2001-01-01T00:00:00Z',
      role: 'admin',
    };
    await signUp({ ...smuggled, email: 'smuggler@example.org', name: 'Smuggler', password: PASSWORD });
    const users = await service.database.query(
      `SELECT id, email_verified, created_at FROM users WHERE email = 'smuggler@example.org'`,
    );
    for (const user of users) {
      expect(user.id).not.toBe(id);
      expect(user.email_verified).toBe(false);
      expect(new Date(user.created_at as string).getUTCFullYear()).toBeGreaterThan(2020);
    }
    expect(await service.database.query('SELECT FROM users WHERE id = $1', [id])).toEqual([]);
  });

  it('creates one user for six concurrent requests, and answers 422 to the others', async () => {
    const body = { email: 'crowd@example.org', name: 'Crowd', password: PASSWORD };
    const answers = await Promise.all(Array.from({ length: 6 }, () => signUp(body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
    const users = await service.database.query(`SELECT id FROM users WHERE email = 'crowd@example.org'`);
    expect(users).toHaveLength(1);
    expect(
      await service.database.query('SELECT FROM auth_accounts WHERE user_id = $1', [users[0]!.id]),
    ).toHaveLength(1);
  });

  it.each([
    ['no body', {}],
    ['no password', { email: 'bad@example.org', name: 'Bad' }],
    ['a short password', { email: 'bad@example.org', name: 'Bad', password: '1234567' }],
    ['a password that is no text', { email: 'bad@example.org', name: 'Bad', password: { $ne: '' } }],
    ['a malformed email', { email: 'bad', name: 'Bad', password: PASSWORD }],
    ['an email that is no text', { email: ['bad@example.org'], name: 'Bad', password: PASSWORD }],
    ['NUL in the name', { email: 'bad@example.org', name: 'B\u0000d', password: PASSWORD }],
    ['NUL in the password', { email: 'bad@example.org', name: 'Bad', password: `${PASSWORD}\u0000` }],
  ])('refuses %s with 4xx and creates no user', async (_, body) => {
    const { status } = await signUp(body);
    expect([400, 422]).toContain(status);
    expect(await service.database.query(`SELECT FROM users WHERE email LIKE '%bad%'`)).toEqual([]);
  });

  it('accepts only JSON: a form, which any site could post, is 400', async () => {
    const form = `email=form%40example.org&name=Form&password=${encodeURIComponent(PASSWORD)}`;
    await auth('post', 'sign-up/email').type('form').send(form).expect(400);
    await auth('post', 'sign-in/email').type('form').send('email=a%00@example.org&password=x').expect(400);
    expect(await service.database.query(`SELECT FROM users WHERE email = 'form@example.org'`)).toEqual([]);
  });

  it('refuses a body above 64 KiB with 413', async () => {
    const { status, body } = await signUp({
      email: 'big@example.org',
      name: 'x'.repeat(64 * 1024),
      password: PASSWORD,
    });
    expect(status).toBe(413);
    expect(body).toEqual({ error: expect.any(String) });
  });
});

describe('a service with SIGNUP_ENABLED=false', () => {
  let closed: TestService;
  beforeAll(async () => {
    closed = await startService({
      beside: service,
      env: { SIGNUP_ENABLED: 'false', TRUSTED_ORIGINS: 'https://notes.example.org' },
    });
  });
  afterAll(() => closed.close());

  it('refuses sign-up and creates no account; existing accounts still sign in', async () => {
    await Browser.signUp('early');
    const { status } = await signUp({ email: 'late@example.org', name: 'Late', password: PASSWORD }, closed);
    expect(status).toBe(400);
    expect(await service.database.query(`SELECT FROM users WHERE email = 'late@example.org'`)).toEqual([]);
    await signIn('early@example.org', PASSWORD, closed).expect(200);
  });

  it('accepts a sign-out with a cookie from an origin of TRUSTED_ORIGINS', async () => {
    const { cookie } = await Browser.signUp('trusted');
    await supertest(closed.url)
      .post('/api/auth/sign-out')
      .set('Cookie', cookie)
      .set('Origin', 'https://notes.example.org')
      .expect(200);
  });
});

describe('POST /api/auth/sign-in/email', () => {
  it('opens a new session, whatever the case of the email', async () => {
    const { userId, sessionToken } = await Browser.signUp('signer');
    const { body } = await signIn('SIGNER@example.org', PASSWORD).expect(200);
    expect(body.user.id).toBe(userId);
    expect(body.token).not.toBe(sessionToken);
  });

  it('answers the same to a wrong password and an unknown email', async () => {
    await Browser.signUp('known');
    const wrong = await signIn('known@example.org', 'not the password');
    const unknown = await signIn('unknown@example.org', 'not the password');
    expect(wrong.status).toBe(401);
    expect(unknown.status).toBe(401);
    expect(unknown.text).toBe(wrong.text);
    expect(wrong.get('Set-Cookie')).toBeUndefined();
  });

  it('gives no session to a user without a password', async () => {
    await devLogin({ email: 'passwordless@example.org', name: 'P' }).expect(200);
    for (const password of ['', 'null', 'undefined']) {
      const { status } = await signIn('passwordless@example.org', password);
      expect([400, 401]).toContain(status);
    }
  });
});

describe('GET /api/auth/get-session', () => {
  it('returns session and user for the cookie and for the session token as bearer', async () => {
    const browser = await Browser.signUp('sessioned');
    const byCookie = await browser.get('get-session').expect(200);
    expect(byCookie.body.user.id).toBe(browser.userId);
    expect(byCookie.body.session.userId).toBe(browser.userId);

    const byBearer = await auth('get', 'get-session')
      .set('Authorization', `Bearer ${browser.sessionToken}`)
      .expect(200);
    expect(byBearer.body.user.id).toBe(browser.userId);
  });

  it('returns null without a session, for an altered cookie and for malformed bearers', async () => {
    const { cookie } = await Browser.signUp('altered');
    const altered = cookie.replace(/.(?=\.)/, (last) => (last === 'a' ? 'b' : 'a'));
    expect((await auth('get', 'get-session').expect(200)).body).toBeNull();
    expect((await auth('get', 'get-session').set('Cookie', altered).expect(200)).body).toBeNull();
    for (const bearer of ['x', '%00', '%E0%A4%A', 'a.b', '.', '%', 'a'.repeat(4000)]) {
      const { status, body } = await auth('get', 'get-session').set('Authorization', `Bearer ${bearer}`);
      expect({ bearer, status, body }).toEqual({ bearer, status: 200, body: null });
    }
  });

  it('extends a session used after some days, but not an expired one', async () => {
    const browser = await Browser.signUp('slider');
    const expireIn = (ms: number): Promise<unknown> =>
      service.database.query(
        `UPDATE auth_sessions SET expires_at = $2, updated_at = $2::timestamptz - interval '7 days' WHERE user_id = $1`,
        [browser.userId, new Date(Date.now() + ms)],
      );

    await expireIn(2 * DAY_MS);
    expect((await browser.get('get-session').expect(200)).body.user.id).toBe(browser.userId);
    const [row] = await service.database.query('SELECT expires_at FROM auth_sessions WHERE user_id = $1', [
      browser.userId,
    ]);
    expect((row!.expires_at as Date).getTime()).toBeGreaterThan(Date.now() + 6 * DAY_MS);

    await expireIn(-1000);
    expect((await browser.get('get-session').expect(200)).body).toBeNull();
    await browser.get('token').expect(401);
  });
});

describe('GET /api/auth/token', () => {
  it('issues a 15-minute RS256 JWT with exactly the documented claims', async () => {
    const browser = await Browser.signUp('minter');
    const token = await browser.jwt();
    const keys = (await auth('get', 'jwks').expect(200)).body.keys as JWK[];

    const header = decodeProtectedHeader(token);
    expect(header.alg).toBe('RS256');
    expect(keys.map(({ kid }) => kid)).toContain(header.kid);

    const claims = decodeJwt(token);
    expect(claims).toEqual({
      sub: browser.userId,
      sid: (await browser.get('get-session').expect(200)).body.session.id,
      iss: BASE_URL,
      aud: BASE_URL,
      iat: expect.any(Number),
      exp: claims.iat! + 900,
      auth_time: expect.any(Number),
    });
    expect(Math.abs(claims.iat! - (claims['auth_time'] as number))).toBeLessThan(60);
    await me(token).expect(200);
  });

  it('is 401 without a session', async () => {
    await auth('get', 'token').expect(401);
  });

  it('refuses a JWT: it is not a session', async () => {
    const browser = await Browser.signUp('no-renewal');
    await auth('get', 'token')
      .set('Authorization', `Bearer ${await browser.jwt()}`)
      .expect(401);
  });
});

describe('GET /api/auth/jwks', () => {
  it('publishes only the public key', async () => {
    const { body } = await auth('get', 'jwks').expect(200);
    expect(Object.keys(body)).toEqual(['keys']);
    expect(body.keys).toHaveLength(1);
    expect(body.keys[0]).toEqual({
      kid: expect.stringMatching(UUID),
      alg: 'RS256',
      kty: 'RSA',
      n: expect.any(String),
      e: 'AQAB',
    });
  });

  it('has its private key encrypted in the database', async () => {
    const [row] = await service.database.query<{ private_key: string; public_key: string }>(
      'SELECT * FROM auth_jwks',
    );
    const { n } = JSON.parse(row!.public_key) as JWK;
    expect(row!.private_key).not.toContain(n);
    expect(row!.private_key).not.toMatch(/"d"|"kty"|PRIVATE KEY/);
    expect(typeof JSON.parse(row!.private_key)).toBe('string'); // ciphertext in quotes, no JWK
    await expect(importJWK(JSON.parse(row!.private_key) as JWK, 'RS256')).rejects.toThrow();
  });
});

describe('one-time tokens', () => {
  const verify = (token: unknown): supertest.Test => auth('post', 'one-time-token/verify').send({ token });

  it('hand over the session: token and user', async () => {
    const browser = await Browser.signUp('handed');
    const { body } = await verify(await browser.oneTimeToken()).expect(200);
    expect(body.user.id).toBe(browser.userId);
    expect(body.session.token).toBe(browser.sessionToken);
    await auth('get', 'token').set('Authorization', `Bearer ${body.session.token}`).expect(200);
  });

  it('work once, also for five concurrent uses', async () => {
    const browser = await Browser.signUp('single-use');
    const token = await browser.oneTimeToken();
    const answers = await Promise.all(Array.from({ length: 5 }, () => verify(token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
    await verify(token).expect(400);
  });

  it('are stored only as a hash, and expire after three minutes', async () => {
    const browser = await Browser.signUp('ott-hash');
    const before = Date.now();
    const token = await browser.oneTimeToken();
    const after = Date.now();
    const rows = await service.database.query<{ identifier: string; value: string; expires_at: Date }>(
      'SELECT * FROM auth_verifications WHERE value = $1',
      [browser.sessionToken],
    );
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(token);
    const begun = rows[0]!.expires_at.getTime() - 180_000;
    expect(begun).toBeGreaterThan(before - 5_000);
    expect(begun).toBeLessThan(after + 5_000);
  });

  it('are refused once expired', async () => {
    const browser = await Browser.signUp('ott-late');
    const token = await browser.oneTimeToken();
    await service.database.query(`UPDATE auth_verifications SET expires_at = $2 WHERE value = $1`, [
      browser.sessionToken,
      new Date(Date.now() - 1),
    ]);
    await verify(token).expect(400);
  });

  it('are refused when the session is signed out meanwhile', async () => {
    const browser = await Browser.signUp('ott-gone');
    const token = await browser.oneTimeToken();
    await browser.post('sign-out').expect(200);
    await verify(token).expect(400);
  });

  it('are issued only to a session, and are 400 unless they are a valid text', async () => {
    await auth('get', 'one-time-token/generate').expect(401);
    for (const token of ['', 'unknown', 7, null, ['a'], { a: 1 }, '\u0000']) {
      expect((await verify(token)).status).toBe(400);
    }
  });
});

describe('POST /api/auth/sign-out', () => {
  it('revokes the session for the cookie and for the bearer', async () => {
    const browser = await Browser.signUp('leaver');
    await browser.post('sign-out').expect(200);
    expect(
      await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [browser.userId]),
    ).toEqual([]);
    expect((await browser.get('get-session').expect(200)).body).toBeNull();
    await browser.get('token').expect(401);
    await browser.get('one-time-token/generate').expect(401);
    await auth('get', 'token').set('Authorization', `Bearer ${browser.sessionToken}`).expect(401);
  });

  it('keeps the other sessions of the user', async () => {
    const browser = await Browser.signUp('two-sessions');
    const other = await signIn(browser.email, PASSWORD).expect(200);
    await browser.post('sign-out').expect(200);
    await auth('get', 'token').set('Authorization', `Bearer ${other.body.token}`).expect(200);
  });
});

describe('cross-site requests', () => {
  /** Stays signed in, as every request is refused. */
  let victim: Browser;
  beforeAll(async () => {
    victim = await Browser.signUp('victim');
  });

  it.each([
    ['a foreign origin', { Origin: 'https://evil.example' }],
    ['an origin that begins like BASE_URL', { Origin: `${BASE_URL}.evil.example` }],
    ['BASE_URL with another port', { Origin: 'http://localhost:1' }],
    ['the null origin', { Origin: 'null' }],
    [
      'a foreign origin that forges the host',
      { Origin: 'https://evil.example', 'X-Forwarded-Host': 'evil.example' },
    ],
  ])('with a cookie and %s cannot sign out', async (_, headers) => {
    const { cookie, userId } = victim;
    await supertest(service.url).post('/api/auth/sign-out').set('Cookie', cookie).set(headers).expect(403);
    expect(
      await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [userId]),
    ).toHaveLength(1);
  });

  it('are refused with an absolute request target that names their host', async () => {
    const { status } = await sendRaw(service.url, {
      method: 'POST',
      path: 'http://evil.example/api/auth/sign-out',
      headers: { Host: 'evil.example', Origin: 'http://evil.example', Cookie: victim.cookie },
    });
    expect(status).toBe(403);
  });

  it('cannot sign a browser in to a foreign account', async () => {
    const headers = {
      Origin: 'https://evil.example',
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'navigate',
    };
    const body = { email: victim.email, password: PASSWORD };
    const answer = await supertest(service.url)
      .post('/api/auth/sign-in/email')
      .set(headers)
      .send(body)
      .expect(403);
    expect(answer.get('Set-Cookie')).toBeUndefined();
  });

  it('cannot use the cookie where a bearer is required', async () => {
    expectUnauthorized(await supertest(service.url).get('/api/v1/auth/me').set('Cookie', victim.cookie));
  });
});

describe('/api/auth/*', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await Browser.signUp('explorer');
  });

  it.each([
    'ok',
    'error',
    'reference',
    'delete-user',
    'change-email',
    'set-password',
    'request-password-reset',
    'reset-password',
    'verify-email',
    'link-social',
    'list-accounts',
    'sign-in/social',
    'sign-jwt',
    'verify-jwt',
    'rotate-keys',
    'token/',
    '/token',
    'token%00',
    'token%2F',
    'Token',
    'x/../token',
    '',
  ])('offers no %s', async (path) => {
    const headers = { Cookie: browser.cookie, Origin: BASE_URL, 'Content-Type': 'application/json' };
    for (const request of [{ method: 'GET' }, { method: 'POST', body: '{}' }]) {
      const answer = await sendRaw(service.url, { ...request, path: `/api/auth/${path}`, headers });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.body)).toEqual({ error: 'not found' });
    }
  });

  it.each(['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
    'does not accept the method %s',
    async (method) => {
      const headers = { Cookie: browser.cookie, Origin: BASE_URL };
      const answer = await sendRaw(service.url, { method, path: '/api/auth/token', headers });
      expect(answer.status).toBe(404);
    },
  );

  it('refuses a request target that is no URL', async () => {
    for (const path of [
      'http://[/api/auth/token',
      'http:///api/auth/token',
      '//evil.example/api/auth/token',
    ]) {
      const answer = await sendRaw(service.url, { method: 'GET', path });
      expect({ path, isRefused: [400, 401, 404].includes(answer.status) }).toEqual({ path, isRefused: true });
    }
  });

  it('lets a user change their own name and nothing else', async () => {
    const changer = await Browser.signUp('changer');
    const id = randomUUID();
    await changer
      .post('update-user')
      .send({ name: 'Renamed', id, emailVerified: true, createdAt: '2001-01-01' });
    await changer.post('update-user').send({ name: 'Renamed' }).expect(200);
    await changer.post('update-user').send({ email: 'stolen@example.org' }).expect(400);
    await changer.post('update-user').send({ name: 'NUL\u0000' }).expect(400);
    const { body } = await me(await changer.jwt()).expect(200);
    expect(body).toMatchObject({ id: changer.userId, email: changer.email, name: 'Renamed' });
    expect(Date.parse(body.created_at as string)).toBeGreaterThan(Date.parse('2020-01-01'));
    const [row] = await service.database.query('SELECT email_verified FROM users WHERE id = $1', [
      changer.userId,
    ]);
    expect(row!.email_verified).toBe(false);
  });

  it.each([null, 7, false, { a: 1 }, ['a'], '', ' ', 'a\tb', 'x'.repeat(256)])(
    'refuses an invalid name: %j',
    async (name) => {
      const changer = await Browser.signUp(`named-${randomUUID()}`);
      await changer.post('update-user').send({ name }).expect(400);
      const body = { email: `${randomUUID()}@example.org`, name, password: PASSWORD };
      await signUp(body).expect(400);
      expect((await changer.get('get-session')).body.user.email).toBe(changer.email);
      expect((await changer.get('get-session')).body.user.name).toMatch(/^named-/);
    },
  );

  it('stores names without leading and trailing blanks', async () => {
    const changer = await Browser.signUp('spaced');
    await changer
      .post('update-user')
      .send({ name: ` ${'é'.repeat(255)}\n` })
      .expect(200);
    expect((await changer.get('get-session')).body.user.name).toBe('é'.repeat(255));
    const body = { email: 'trimmed@example.org', name: ' Trimmed ', password: PASSWORD };
    expect((await signUp(body).expect(200)).body.user.name).toBe('Trimmed');
  });

  it.each([
    ['a number', 7],
    ['an object', { a: 1 }],
    ['a list', ['https://example.org/a.png']],
    ['a boolean', true],
    ['no URL', 'a.png'],
    ['a script', 'javascript:alert(1)'],
    ['a script behind white space', '\njavascript:alert(1)'],
    ['a URL with white space', 'https://example.org/a b.png'],
    ['a data URL', 'data:image/png;base64,AAAA'],
    ['another scheme', 'http://example.org/a.png'],
    ['a URL without a host', 'https://:443'],
    ['a long URL', `https://example.org/${'a'.repeat(2_029)}`],
  ])('refuses a picture that is %s', async (what, image) => {
    const changer = await Browser.signUp(`no-picture-${what.replaceAll(' ', '-')}`);
    await changer.post('update-user').send({ image }).expect(400);
    const body = {
      email: `pictured-${what.replaceAll(' ', '-')}@example.org`,
      name: 'P',
      password: PASSWORD,
    };
    await signUp({ ...body, image }).expect(400);
    expect((await changer.get('get-session')).body.user.image).toBeNull();
  });

  it('accepts an https URL of up to 2,048 characters as a picture, and null', async () => {
    const changer = await Browser.signUp('pictured');
    for (const image of [
      'https://example.org/a.png?size=2',
      `https://example.org/${'a'.repeat(2_028)}`,
      null,
    ]) {
      await changer.post('update-user').send({ image }).expect(200);
      expect((await changer.get('get-session')).body.user.image).toBe(image);
    }
  });

  it.each([
    ['update-user', { name: 'N', displayName: 'N' }, 'displayName'],
    [
      'change-password',
      { currentPassword: 'x', newPassword: 'y', revoke_access_tokens: true },
      'revoke_access_tokens',
    ],
    ['two-factor/enable', { pasword: 'x' }, 'pasword'],
    ['two-factor/disable', { passwort: 'x' }, 'passwort'],
    ['two-factor/generate-backup-codes', { Password: 'x' }, 'Password'],
    ['passkey/update-passkey', { id: 'x', name: 'x', label: 'y' }, 'label'],
    ['passkey/delete-passkey', { id: 'x', all: true }, 'all'],
  ])('refuses an unknown member of %s by name', async (action, body, member) => {
    const changer = await Browser.signUp(`precise-${member}`);
    await changer
      .post(action)
      .send(body)
      .expect(400, { error: `unknown member "${member}"` });
  });

  it('lists sessions for a day after signing in, and ends them', async () => {
    const browser = await Browser.signUp('lister');
    const { body: other } = await signIn(browser.email, PASSWORD).expect(200);
    const list = async (): Promise<{ id: string; token: string }[]> =>
      (await browser.get('list-sessions').expect(200)).body as { id: string; token: string }[];
    const tokens = async (): Promise<string[]> => (await list()).map(({ token }) => token).sort();
    const others = (await list()).filter(({ token }) => token !== browser.sessionToken);
    expect(others).toEqual([expect.objectContaining({ token: others[0]!.id })]); // which is no credential
    await supertest(service.url)
      .get('/api/auth/get-session')
      .set('Authorization', `Bearer ${others[0]!.id}`)
      .expect(200, 'null');

    const stranger = await Browser.signUp('session-stranger');
    for (const token of [other.token, others[0]!.id])
      await stranger.post('revoke-session').send({ token }).expect(200, { status: true });
    expect(await tokens()).toHaveLength(2);
    await browser.post('revoke-session').send({ token: others[0]!.id }).expect(200, { status: true });
    expect(await tokens()).toEqual([browser.sessionToken]);
    const { body: another } = await signIn(browser.email, PASSWORD).expect(200);
    await browser.post('revoke-session').send({ token: another.token }).expect(200, { status: true });
    expect(await tokens()).toEqual([browser.sessionToken]);
    await signIn(browser.email, PASSWORD).expect(200);
    await browser.post('revoke-other-sessions').expect(200, { status: true });
    expect(await tokens()).toEqual([browser.sessionToken]);

    await service.database.query(
      `UPDATE auth_sessions SET created_at = created_at - interval '25 hours' WHERE user_id = $1`,
      [browser.userId],
    );
    expect((await browser.get('list-sessions').expect(403)).body.code).toBe('SESSION_NOT_FRESH');
  });

  it('changes a password with the current one, and ends all sessions when asked to', async () => {
    const browser = await Browser.signUp('password-changer');
    const change = (body: object): supertest.Test => browser.post('change-password').send(body);
    const [currentPassword, newPassword] = [PASSWORD, 'another battery staple'];
    await change({ currentPassword: newPassword, newPassword }).expect(400);
    await change({ currentPassword, newPassword: '1234567' }).expect(400);
    await change({ currentPassword, newPassword: 'x'.repeat(129) }).expect(400);
    await auth('post', 'change-password').send({ currentPassword, newPassword }).expect(401);
    const { body } = await change({ currentPassword, newPassword, revokeOtherSessions: true }).expect(200);
    expect(body).toMatchObject({ token: expect.any(String), user: { id: browser.userId } });
    expect((await browser.get('get-session').expect(200)).body).toBeNull();
    await signIn(browser.email, PASSWORD).expect(401);
    await signIn(browser.email, newPassword).expect(200);
  });

  it('does not begin a session with the old password while the password is changed', async () => {
    const browser = await Browser.signUp('raced-changer');
    const newPassword = 'another battery staple';
    const change = { currentPassword: PASSWORD, newPassword, revokeOtherSessions: true };
    // Both have the password checked; then the change waits for the user, and the session for the change.
    const held = await holdRow(service.database, 'users', 'id', browser.userId);
    const changed = browser
      .post('change-password')
      .send(change)
      .then((answer) => answer);
    await held.waiting(1);
    const signedIn = signIn(browser.email, PASSWORD).then((answer) => answer);
    await held.waiting(2);
    await held.release();

    expect([(await changed).status, (await signedIn).status]).toEqual([200, 401]);
    expect((await signedIn).body.code).toBe('INVALID_EMAIL_OR_PASSWORD');
    expect((await signedIn).get('Set-Cookie')).toBeUndefined();
    const sessions = await service.database.query('SELECT token FROM auth_sessions WHERE user_id = $1', [
      browser.userId,
    ]);
    expect(sessions).toEqual([{ token: (await changed).body.token }]);
  });

  it('answers a wrong method on an offered path with a flat 404', async () => {
    for (const [method, path] of [
      ['post', 'token'],
      ['post', 'get-session'],
      ['get', 'sign-up/email'],
      ['get', 'sign-out'],
    ] as const) {
      const { status, body } = await auth(method, path);
      expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } });
    }
  });

  it('answers a flat 400 to bodies that are not JSON objects', async () => {
    for (const body of ['{', '[]', 'null', '"text"', '\u0000', '{"email":']) {
      const answer = await auth('post', 'sign-in/email').set('Content-Type', 'application/json').send(body);
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({ error: expect.any(String) });
    }
  });
});

describe('POST /api/v1/auth/dev-login', () => {
  it('creates the user and signs a JWT that works', async () => {
    const { body } = await devLogin({ email: 'dev@example.org', name: 'Dev' }).expect(200);
    expect(body).toEqual({
      token: expect.any(String),
      userId: expect.stringMatching(UUID),
      email: 'dev@example.org',
      name: 'Dev',
    });
    const claims = decodeJwt(body.token);
    expect(claims).toEqual({
      sub: body.userId,
      sid: expect.stringMatching(UUID),
      iss: BASE_URL,
      aud: BASE_URL,
      iat: claims.iat,
      exp: claims.iat! + 900,
      auth_time: claims.iat,
    });
    expect((await me(body.token).expect(200)).body.id).toBe(body.userId);
  });

  it('finds the user again, whatever the case of the email, and keeps the name', async () => {
    const first = await devLogin({ email: 'Case@Example.org', name: 'First' }).expect(200);
    const second = await devLogin({ email: 'cASE@eXAMPLE.ORG', name: 'Second' }).expect(200);
    expect(second.body).toMatchObject({
      userId: first.body.userId,
      email: 'case@example.org',
      name: 'First',
    });
  });

  it('is recorded in the audit log in production', async () => {
    const key = 'k'.repeat(32);
    const env = {
      NODE_ENV: 'production',
      AUTH_SECRET: 's'.repeat(40),
      BASE_URL,
      EMAIL_VERIFICATION: 'optional',
      DEV_LOGIN_KEY: key,
    };
    const production = await startService({ env });
    const { body } = await devLogin({ email: 'ops@example.org', name: 'Ops' }, key, production).expect(200);
    const events = await production.app.get(AuditLog).ofUser(body.userId, 10);
    expect(events.map(({ action }) => action)).toEqual(['sign-in.development']);
    await production.close();
  });

  it('does not bypass a second factor', async () => {
    const { body } = await devLogin({ email: 'factor@example.org', name: 'Factor' }).expect(200);
    await giveFactor(service, { id: body.userId });
    const refused = await devLogin({ email: 'factor@example.org', name: 'Factor' }).expect(403);
    expect(refused.body).toEqual({ error: 'the account has a second factor: sign in with it' });
  });

  it('finds a user who signed up', async () => {
    const { userId, email } = await Browser.signUp('both-ways');
    expect((await devLogin({ email, name: 'x' }).expect(200)).body.userId).toBe(userId);
  });

  it('creates one user for twenty concurrent calls', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => devLogin({ email: 'twenty@example.org', name: 'Twenty' }).expect(200)),
    );
    expect(new Set(answers.map(({ body }) => String(body.userId))).size).toBe(1);
    expect(await service.database.query(`SELECT FROM users WHERE email = 'twenty@example.org'`)).toHaveLength(
      1,
    );
  });

  it.each([
    ['a wrong key', 'the-dev-login-key-of-testz'],
    ['a part of the key', DEV_LOGIN_KEY.slice(0, -1)],
    ['more than the key', `${DEV_LOGIN_KEY}x`],
    ['another case', DEV_LOGIN_KEY.toUpperCase()],
    ['an empty key', ''],
  ])('is 403 with %s, before the body is validated', async (_, key) => {
    for (const body of [{ email: 'refused@example.org', name: 'R' }, '{', {}]) {
      const answer = await devLogin(body, key);
      expect(answer.status).toBe(403);
      expect(answer.body).toEqual({ error: 'the dev-login key is wrong' });
    }
    expect(await service.database.query(`SELECT FROM users WHERE email = 'refused@example.org'`)).toEqual([]);
  });

  it('is 403 with the key sent twice or not at all', async () => {
    const path = '/api/v1/auth/dev-login';
    await supertest(service.url).post(path).send({ email: 'refused@example.org', name: 'R' }).expect(403);
    const twice = `${DEV_LOGIN_KEY}\r\nX-Dev-Login-Key: ${DEV_LOGIN_KEY}`;
    const answer = await sendRaw(service.url, {
      method: 'POST',
      path,
      headers: { 'X-Dev-Login-Key': twice },
    });
    expect(answer.status).toBe(403);
  });

  it('is 403 with any key while none is configured', async () => {
    const unconfigured = await startService({ beside: service, env: { DEV_LOGIN_KEY: '' } });
    try {
      for (const key of [DEV_LOGIN_KEY, '', 'undefined', 'null']) {
        const answer = await devLogin({ email: 'refused@example.org', name: 'R' }, key, unconfigured);
        expect(answer.status).toBe(403);
        expect(answer.body).toEqual({ error: 'dev-login is not enabled' });
      }
    } finally {
      await unconfigured.close();
    }
  });

  it.each([
    ['broken JSON', '{"email":'],
    ['an array', '[]'],
    ['null', 'null'],
    ['nothing', ''],
    ['no email', { name: 'x' }],
    ['an invalid email', { email: 'x', name: 'x' }],
    ['two emails', { email: ['refused@example.org', 'b@example.org'], name: 'x' }],
    ['a null email', { email: null, name: 'x' }],
    ['NUL in the email', { email: 'refused\u0000@example.org', name: 'x' }],
    ['no name', { email: 'refused@example.org' }],
    ['an empty name', { email: 'refused@example.org', name: '' }],
    ['a name that is not a string', { email: 'refused@example.org', name: 7 }],
    ['a name of 256 characters', { email: 'refused@example.org', name: 'x'.repeat(256) }],
    ['NUL in the name', { email: 'refused@example.org', name: 'x\u0000' }],
    ['a line feed in the name', { email: 'refused@example.org', name: 'x\nx' }],
  ])('is 400 with %s', async (_, body) => {
    const answer = await devLogin(body);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect(await service.database.query(`SELECT FROM users WHERE email LIKE 'refused%'`)).toEqual([]);
  });
});

describe('GET /api/v1/auth/me', () => {
  it('returns the user in snake_case, and nothing else', async () => {
    const alice = await service.newcomer('me-alice');
    const { body } = await alice.get('/api/v1/auth/me').expect(200);
    expect(body).toEqual({
      id: alice.id,
      email: 'me-alice@example.org',
      name: 'me-alice',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it('is 404 for a deleted user, where every other route answers 401', async () => {
    const gone = await service.newcomer('me-gone');
    await service.database.query('DELETE FROM users WHERE id = $1', [gone.id]);
    const { body } = await gone.get('/api/v1/auth/me').expect(404);
    expect(body).toEqual({ error: 'user not found' });

    const workspace = `/api/v1/workspaces/${randomUUID()}`;
    expectUnauthorized(await gone.get('/api/v1/subscription'));
    expectUnauthorized(await gone.post('/api/v1/subscription/trial'));
    expectUnauthorized(await gone.get('/api/v1/workspaces'));
    expectUnauthorized(await gone.post('/api/v1/workspaces').send({ name: 'x' }));
    expectUnauthorized(await gone.get(workspace));
    expectUnauthorized(await gone.put(`${workspace}/files/a`));
    expectUnauthorized(await gone.get(`${workspace}/sync/status`));
  });
});

describe('signing keys renewed on another instance', () => {
  it('invalidate earlier JWTs within five seconds and close their sockets', async () => {
    const shared = await startService();
    const beside = await startService({ beside: shared });
    const user = await shared.user('renewed');
    const socket = await TestSocket.join(await user.workspace(), 'laptop');
    await user.get('/api/v1/auth/me').expect(200);
    await beside.app.get(SigningKeys, { strict: false }).renew();
    shared.clock.advance(5_000);
    await user.get('/api/v1/auth/me').expect(401);
    await shared.app.get(TokenWatch, { strict: false }).closeLapsed();
    expect(await socket.closed()).toBe(4401);
    const { token } = (
      await devLogin({ email: user.email, name: 'Renewed' }, DEV_LOGIN_KEY, shared).expect(200)
    ).body;
    await me(token, shared).expect(200);
    await beside.close();
    await shared.close();
  });
});

describe('a request body that arrives after the signing keys were renewed', () => {
  it('creates no token: the JWT is checked again', async () => {
    const shared = await startService();
    const beside = await startService({ beside: shared });
    const user = await shared.newcomer('renewed-in-mid-body');
    const tokens = user.at(beside.url).post('/api/v1/auth/tokens').type('json');
    const finish = await begunRequest(beside, tokens, JSON.stringify({ name: 'backdoor' }));
    await shared.app.get(SigningKeys, { strict: false }).renew();
    shared.clock.advance(5_000);
    expectUnauthorized(await finish());
    expect(await shared.database.query('SELECT FROM access_tokens')).toEqual([]);
    await beside.close();
    await shared.close();
  });
});

describe('a bearer token', () => {
  /** A key of the service, older than the current one, whose private key the test knows. */
  let known: { kid: string; privateKey: KeyObject; publicKey: KeyObject };
  let userId: string;
  let sessionId: string;

  beforeAll(async () => {
    known = await insertKey();
    const { body } = await devLogin({ email: 'forger@example.org', name: 'Forger' }).expect(200);
    userId = body.userId;
    sessionId = String(decodeJwt(body.token as string)['sid']);
    service.clock.advance(10_000); // the key set may be read again
    await me(await forge()).expect(200);
  });

  async function insertKey(): Promise<typeof known> {
    const kid = randomUUID();
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await service.database.query(
      `INSERT INTO auth_jwks (id, public_key, private_key, alg, created_at) VALUES ($1, $2, 'none', 'RS256', '2000-01-01')`,
      [kid, JSON.stringify(pair.publicKey.export({ format: 'jwk' }))],
    );
    return { kid, ...pair };
  }

  interface Forgery {
    alg?: string;
    kid?: string;
    key?: KeyObject | Uint8Array;
    claims?: Record<string, unknown>;
  }

  /** A valid token, except for the given claims: a claim of undefined is left out. */
  function forge({
    alg = 'RS256',
    kid = known.kid,
    key = known.privateKey,
    claims = {},
  }: Forgery = {}): Promise<string> {
    const iat = Math.floor(service.clock.now().getTime() / 1000);
    const all = { sub: userId, sid: sessionId, iss: BASE_URL, aud: BASE_URL, iat, exp: iat + 900, ...claims };
    return new SignJWT(JSON.parse(JSON.stringify(all)) as Record<string, unknown>)
      .setProtectedHeader({ alg, kid })
      .sign(key);
  }

  function unsigned(header: object, claims: object, signature = ''): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part(header)}.${part(claims)}.${signature}`;
  }

  it('is accepted in any case of the scheme', async () => {
    const token = await forge();
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      await supertest(service.url)
        .get('/api/v1/auth/me')
        .set('Authorization', `${scheme} ${token}`)
        .expect(200);
    }
  });

  it('must be in the Authorization header with the scheme Bearer', async () => {
    const token = await forge();
    expectUnauthorized(await supertest(service.url).get('/api/v1/auth/me'));
    expectUnauthorized(await supertest(service.url).get(`/api/v1/auth/me?token=${token}`));
    for (const header of [
      '',
      token,
      `Basic ${token}`,
      `Bearer${token}`,
      'Bearer',
      `Token ${token}`,
      `Bearer ${token} x`,
    ]) {
      expectUnauthorized(await supertest(service.url).get('/api/v1/auth/me').set('Authorization', header));
    }
  });

  it.each([
    'x',
    'a.b',
    'a.b.c',
    '..',
    '.',
    'a.b.c.d',
    'a.b.c.d.e',
    'null',
    '%00',
    'e30.e30.e30',
    'a'.repeat(9000),
  ])('that is malformed is 401: %#', async (token) => expectUnauthorized(await me(token)));

  it('is 401 without a signature', async () => {
    const token = await forge();
    const claims = decodeJwt(token);
    expectUnauthorized(await me(unsigned({ alg: 'none', kid: known.kid }, claims)));
    expectUnauthorized(await me(unsigned({ alg: 'None', kid: known.kid }, claims)));
    expectUnauthorized(await me(unsigned({ alg: 'RS256', kid: known.kid }, claims)));
    expectUnauthorized(await me(unsigned({ alg: 'none', kid: known.kid }, claims, token.split('.')[2])));
    expectUnauthorized(await me(token.slice(0, -4)));
  });

  it('is 401 when signed by another algorithm: HS256 with the public key, PS256, RS512', async () => {
    const pem = new TextEncoder().encode(await exportSPKI(known.publicKey));
    const jwk = new TextEncoder().encode(JSON.stringify(known.publicKey.export({ format: 'jwk' })));
    expectUnauthorized(await me(await forge({ alg: 'HS256', key: pem })));
    expectUnauthorized(await me(await forge({ alg: 'HS256', key: jwk })));
    expectUnauthorized(await me(await forge({ alg: 'PS256' })));
    expectUnauthorized(await me(await forge({ alg: 'RS512' })));
  });

  it('is 401 when signed by a foreign key under a known kid, or with its own key in the header', async () => {
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expectUnauthorized(await me(await forge({ key: stranger.privateKey })));
    const jwk = stranger.publicKey.export({ format: 'jwk' });
    const claims = decodeJwt(await forge());
    const withKey = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: known.kid, jwk: jwk });
    expectUnauthorized(await me(await withKey.sign(stranger.privateKey)));
    const withoutKid = new SignJWT(claims).setProtectedHeader({ alg: 'RS256' });
    expectUnauthorized(await me(await withoutKid.sign(known.privateKey)));
  });

  it.each([
    ['no exp', { exp: undefined }],
    ['an exp that is no number', { exp: 'tomorrow' }],
    ['an exp in the past', { exp: 1_000_000_000 }],
    ['nbf ahead', { nbf: 99_999_999_999 }],
    ['no issuer', { iss: undefined }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['an issuer that begins like BASE_URL', { iss: `${BASE_URL}/` }],
    ['no audience', { aud: undefined }],
    ['another audience', { aud: 'https://evil.example' }],
    ['no sub', { sub: undefined }],
    ['no sid', { sid: undefined }],
    ['a sid that is no uuid', { sid: 'session' }],
    ['an empty sub', { sub: '' }],
    ['a sub that is no uuid', { sub: `x' OR '1'='1` }],
    ['a sub that is no text', { sub: 7 }],
    ['a sub that is a list', { sub: ['a'] }],
  ])('valid except for %s is 401', async (_, claims) => {
    expectUnauthorized(await me(await forge({ claims })));
  });

  it('is 404 at /auth/me and 401 elsewhere for an unknown user', async () => {
    const token = await forge({ claims: { sub: randomUUID() } });
    await me(token).expect(404);
    expectUnauthorized(
      await supertest(service.url).get('/api/v1/workspaces').set('Authorization', `Bearer ${token}`),
    );
  });

  it('expires after 15 minutes', async () => {
    const own = await startService();
    try {
      const alice = await own.newcomer('alice');
      own.clock.advance(14 * 60_000 + 55_000);
      for (let i = 0; i < 2; i++) await alice.get('/api/v1/auth/me').expect(200); // verified, then remembered
      own.clock.advance(6_000);
      expectUnauthorized(await alice.get('/api/v1/auth/me'));
    } finally {
      await own.close();
    }
  });

  it('is 401 when it is a session token', async () => {
    const { sessionToken } = await Browser.signUp('session-as-bearer');
    expectUnauthorized(await me(sessionToken));
  });

  it('costs at most one query a second with an unknown kid, and a new key is found after that', async () => {
    const queries = jest.spyOn(service.app.get(DataSource).getRepository(SigningKey), 'find');
    const strangers = (): Promise<supertest.Response[]> =>
      Promise.all(Array.from({ length: 20 }, async () => me(await forge({ kid: randomUUID() }))));
    let elapsed = Math.ceil(service.clock.elapsed()) + 10_000; // an integer, so that a second has 1,000 ms
    const standing = jest.spyOn(service.clock, 'elapsed').mockImplementation(() => elapsed);

    (await strangers()).forEach(expectUnauthorized);
    expect(queries).toHaveBeenCalledTimes(1);
    (await strangers()).forEach(expectUnauthorized);
    expect(queries).toHaveBeenCalledTimes(1);

    const fresh = await insertKey();
    const token = await forge({ kid: fresh.kid, key: fresh.privateKey });
    expectUnauthorized(await me(token));
    elapsed += 1_000;
    await me(token).expect(200);
    expect(queries).toHaveBeenCalledTimes(2);
    queries.mockRestore();
    standing.mockRestore();
    service.clock.advance(11_000); // to where it stood
  });

  it('is 401 with a withdrawn key once the keys are read again, even if verified before', async () => {
    const withdrawn = await insertKey();
    service.clock.advance(10_000);
    const token = await forge({ kid: withdrawn.kid, key: withdrawn.privateKey });
    for (let i = 0; i < 2; i++) await me(token).expect(200);
    await service.database.query('DELETE FROM auth_jwks WHERE id = $1', [withdrawn.kid]);
    service.clock.advance(10_000);
    expectUnauthorized(await me(await forge({ kid: randomUUID() }))); // makes the service read the keys
    expectUnauthorized(await me(token));
  });
});

describe('two instances', () => {
  it('migrate an empty database once and create one key when they start at once', async () => {
    const empty = await createDatabase({ isEmpty: true });
    const dataDir = await mkdtemp(join(tmpdir(), 'sync-shared-'));
    const secret = 'a secret that both instances share, long enough';
    const env = { DATABASE_URL: empty.url, DATA_DIR: dataDir, AUTH_SECRET: secret };
    const [one, two] = await Promise.all([startService({ env }), startService({ env })]);
    try {
      const names = await empty.query<{ name: string }>('SELECT name FROM migrations');
      expect(new Set(names.map(({ name }) => name)).size).toBe(names.length);
      expect(await empty.query('SELECT FROM auth_jwks')).toHaveLength(1);

      const { body } = await devLogin(
        { email: 'either@example.org', name: 'Either' },
        DEV_LOGIN_KEY,
        one,
      ).expect(200);
      await me(body.token, two).expect(200);
    } finally {
      await Promise.all([one.close(), two.close()]);
      await empty.drop();
      await rm(dataDir, { recursive: true });
    }
  });
});

describe('rate limits of authentication', () => {
  const toNextMinute = (): void => {
    const now = limited.clock.now().getTime();
    limited.clock.advance(60_000 - (now % 60_000));
    limited.clock.stopAt(limited.clock.now()); // so that it does not end meanwhile
  };
  let limited: TestService;
  beforeAll(async () => {
    limited = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' } });
  });
  afterAll(() => limited.close());

  it.each([
    ['sign-in', () => signIn('nobody@example.org', 'guess number n', limited)],
    ['sign-up', () => signUp({ email: 'x' }, limited)],
    ['dev-login', () => devLogin({}, 'a wrong key', limited)],
  ])('allow ten attempts at %s a minute per address, then 429 until the next minute', async (_, attempt) => {
    toNextMinute();
    for (let tries = 0; tries < 10; tries++) expect((await attempt()).status).not.toBe(429);
    const refused = await attempt().set('X-Forwarded-For', '203.0.113.9');
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({ error: 'too many requests' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);

    limited.clock.advance(Number(refused.headers['retry-after']) * 1000);
    expect((await attempt()).status).not.toBe(429);
  });
});
