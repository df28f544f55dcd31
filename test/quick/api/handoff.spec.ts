import supertest from 'supertest';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { assetsOf, elementOf, formOf, formsOf, textOf, Visitor } from '../../kit/visitor.js';

const DAY_MS = 24 * 60 * 60_000;
const PASSWORD = 'correct horse battery staple';
const CLIENT_STATE = 'a-state-of-the-app_0123456789';
const EDITOR = 'https://editor.example.org/auth/callback';
const ALT = 'https://alt.example.org/callback?from=sync';

const DESKTOP_PATH = `/auth/desktop-handoff?client_state=${CLIENT_STATE}`;
const webPath = (returnTo = EDITOR): string =>
  `/auth/web-handoff?client_state=${CLIENT_STATE}&return_to=${encodeURIComponent(returnTo)}`;

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { EDITOR_CALLBACK_URL: EDITOR, ALT_CALLBACK_URL: ALT } });
});
afterAll(() => service.close());

async function signUp(name: string): Promise<{ email: string; password: string }> {
  const account = { email: `${name}@example.org`, password: PASSWORD };
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ ...account, name })
    .expect(200);
  return account;
}

/** A new account, and a browser that is at a page of the service and not signed in. */
async function visitor(name: string, path = DESKTOP_PATH) {
  const account = await signUp(name);
  const browser = new Visitor(service.url);
  return { account, browser, page: await browser.get(path) };
}

/** The address to which a handoff sends the browser. */
function callbackOf(answer: supertest.Response): URL {
  const target = answer.headers.location ?? elementOf(answer, 'link').value;
  return new URL(String(target));
}

const tokenOf = (answer: supertest.Response): string => callbackOf(answer).searchParams.get('token') ?? '';

function verify(token: string, at = service): supertest.Test {
  return supertest(at.url).post('/api/auth/one-time-token/verify').set('Origin', BASE_URL).send({ token });
}

async function jwtStatus(sessionToken: string): Promise<number> {
  const bearer = { Authorization: `Bearer ${sessionToken}`, Origin: BASE_URL };
  return (await supertest(service.url).get('/api/auth/token').set(bearer)).status;
}

const rowsOf = async (table: string): Promise<number> =>
  Number((await service.database.query(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n);

describe('GET /auth/desktop-handoff', () => {
  it('shows a sign-in and a sign-up form, both posted to its own path', async () => {
    const page = await new Visitor(service.url).get(DESKTOP_PATH);
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(formsOf(page).map(({ label, action }) => [label, action])).toEqual([
      ['Sign in', '/auth/desktop-handoff'],
      ['Sign up', '/auth/desktop-handoff'],
    ]);
    expect(page.text).toContain('<html lang="en">');
  });

  it('names the app, the code to compare and how long the token is valid', async () => {
    const text = textOf((await new Visitor(service.url).get(DESKTOP_PATH)).text);
    expect(text).toContain('Sign in to cloudsync');
    expect(text).toContain('3 minutes, one use');
    expect(text).toContain('localhost:8787');
    expect(text).toContain('Code to compare J7C8-W8QA '); // SHA-256 of the state begins 91d88e22ea
    const other = await new Visitor(service.url).get(`${DESKTOP_PATH}x&scheme=cloudsync-desktop`);
    expect(textOf(other.text)).toContain('Sign in to cloudsync-desktop');
    expect(codeOn(other.text)).not.toBe(codeOn(text));
  });

  const codeOn = (html: string): string => /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(html)?.[0] ?? '';

  it('creates no session and no token, also for a signed-in user', async () => {
    const { account, browser, page } = await visitor('looker');
    await browser.submit(page, 'Sign in', account);
    const tables = ['auth_sessions', 'auth_verifications', 'users'];
    const before = await Promise.all(tables.map(rowsOf));
    const again = await browser.get(DESKTOP_PATH);
    expect(again.status).toBe(200);
    expect(await Promise.all(tables.map(rowsOf))).toEqual(before);
  });

  it('has strict security headers, and no inline code', async () => {
    const { headers, text } = await new Visitor(service.url).get(DESKTOP_PATH);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(policyOf(headers)).toEqual({
      'default-src': "'none'",
      'style-src': "'self'",
      'script-src': "'self'",
      'img-src': "'self'",
      'connect-src': "'self'",
      'form-action': "'self'",
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
      'require-trusted-types-for': "'script'",
      'trusted-types': "'none'",
    });
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/);
  });

  it('sets one form secret per browser, in a cookie that scripts and other sites cannot use', async () => {
    const browser = new Visitor(service.url);
    const first = await browser.get(DESKTOP_PATH);
    expect(first.get('Set-Cookie')).toEqual([
      expect.stringMatching(/^form-secret=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const second = await browser.get(DESKTOP_PATH);
    expect(second.get('Set-Cookie')).toBeUndefined();
    expect(formOf(second, 'Sign in').values.csrf_token).toBe(formOf(first, 'Sign in').values.csrf_token);
    expect(first.text).not.toContain(/form-secret=([\w-]+)/.exec(first.get('Set-Cookie')![0]!)![1]);
  });

  it('escapes text of the request', async () => {
    const { browser, account, page } = await visitor('escaped');
    const email = `"><script>alert(1)</script>@example.org`;
    const answer = await browser.submit(page, 'Sign in', { ...account, email });
    expect(answer.status).toBe(422);
    expect(answer.text).not.toContain('<script>alert');
    expect(elementOf(answer, 'sign-in-email')).toHaveProperty('value', email);
    expect(answer.text).toContain('&lt;script');
  });
});

const policyOf = (headers: supertest.Response['headers']): Record<string, string> =>
  Object.fromEntries(
    String(headers['content-security-policy'])
      .split('; ')
      .map((directive) => directive.split(/ (.*)/s).slice(0, 2) as [string, string]),
  );

describe('POST /auth/desktop-handoff', () => {
  it('signs in, and links to the app with a one-time token and the state', async () => {
    const { account, browser, page } = await visitor('alice');
    const answer = await browser.submit(page, 'Sign in', account);
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['referrer-policy']).toBe('no-referrer');
    expect(policyOf(answer.headers)['form-action']).toBe("'none'");

    const callback = callbackOf(answer);
    expect(`${callback.protocol}//${callback.host}${callback.pathname}`).toBe('cloudsync://auth/callback');
    expect([...callback.searchParams.keys()]).toEqual(['token', 'client_state']);
    expect(callback.searchParams.get('client_state')).toBe(CLIENT_STATE);
    expect(answer.text).toContain(`href="${callback.href.replaceAll('&', '&amp;')}"`);

    const { body } = await verify(tokenOf(answer)).expect(200);
    expect(body.user.email).toBe(account.email);
    expect(await jwtStatus(body.session.token)).toBe(200);
  });

  it('links to the requested scheme', async () => {
    const { account, browser, page } = await visitor('schemer', `${DESKTOP_PATH}&scheme=cloudsync-desktop`);
    const answer = await browser.submit(page, 'Sign in', account);
    expect(callbackOf(answer).protocol).toBe('cloudsync-desktop:');
  });

  it('signs the browser in, which can then continue without a password, or as another user', async () => {
    const { account, browser, page } = await visitor('returning');
    await browser.submit(page, 'Sign in', account);
    const again = await browser.get(DESKTOP_PATH);
    expect(textOf(again.text)).toContain('Continue as returning');
    expect(textOf(again.text)).toContain('Use another account');
    expect(formsOf(again).map(({ label }) => label)).toEqual(['Continue', 'Sign in', 'Sign up']);
    expect((await verify(tokenOf(await browser.submit(again, 'Continue'))).expect(200)).body.user.email).toBe(
      account.email,
    );

    const other = await signUp('the-other');
    const asOther = await browser.submit(await browser.get(DESKTOP_PATH), 'Sign in', other);
    expect((await verify(tokenOf(asOther)).expect(200)).body.user.email).toBe(other.email);
    expect(textOf((await browser.get(DESKTOP_PATH)).text)).toContain('Continue as the-other');
  });

  it('creates an account, and a token for it', async () => {
    const browser = new Visitor(service.url);
    const account = { name: 'Fresh Face', email: 'fresh@example.org', password: PASSWORD };
    const answer = await browser.submit(await browser.get(DESKTOP_PATH), 'Sign up', account);
    expect((await verify(tokenOf(answer)).expect(200)).body.user).toMatchObject({
      name: 'Fresh Face',
      email: 'fresh@example.org',
    });
  });

  it('shows the form again after a wrong password, with error and focus at the field', async () => {
    const { account, browser, page } = await visitor('mistaken');
    const answer = await browser.submit(page, 'Sign in', { ...account, password: 'not this one' });
    expect(answer.status).toBe(422);
    expect(answer.get('Set-Cookie')).toBeUndefined();
    expect(answer.text).not.toContain('not this one');
    expect(elementOf(answer, 'sign-in-email').value).toBe(account.email);
    expect(elementOf(answer, 'sign-in-password')).toMatchObject({
      'aria-invalid': 'true',
      'aria-describedby': 'sign-in-password-fault',
      autofocus: '',
    });
    expect(answer.text).toMatch(/id="sign-in-password-fault">The email address or the password is wrong\.</);
    expect((await browser.submit(answer, 'Sign in', account)).status).toBe(200);
  });

  it('answers the same to a wrong password and to an unknown user', async () => {
    const { account, browser, page } = await visitor('guessed');
    const texts = await Promise.all(
      [account.email, 'nobody@example.org'].map(async (email) =>
        (await browser.submit(page, 'Sign in', { email, password: 'a guess at it' })).text.replace(email, ''),
      ),
    );
    expect(texts[0]).toBe(texts[1]);
  });

  it.each([
    ['an address that is taken', { email: 'taken@example.org' }, 'sign-up-email'],
    ['an invalid address', { email: 'nowhere' }, 'sign-up-email'],
    ['an address that is too long', { email: `${'a'.repeat(60)}@${'b'.repeat(250)}.org` }, 'sign-up-email'],
    ['a short password', { password: '1234567' }, 'sign-up-password'],
    ['a very long password', { password: 'x'.repeat(129) }, 'sign-up-password'],
    ['no name', { name: ' ' }, 'sign-up-name'],
    ['a name of control characters', { name: 'a\u0007b' }, 'sign-up-name'],
  ])('refuses a sign-up with %s, and shows the error at the field', async (_, wrong, field) => {
    if (field === 'sign-up-email') await signUp('taken').catch(() => undefined);
    const users = await rowsOf('users');
    const browser = new Visitor(service.url);
    const account = { name: 'Wrong', email: 'wrong@example.org', password: PASSWORD, ...wrong };
    const answer = await browser.submit(await browser.get(DESKTOP_PATH), 'Sign up', account);
    expect(answer.status).toBe(422);
    expect(elementOf(answer, field)['aria-describedby']).toContain(`${field}-fault`);
    expect(answer.text).toMatch(/<details class="sign-up" open/);
    expect(await rowsOf('users')).toBe(users);
  });

  it('writes no token, password or cookie to the log', async () => {
    const { account, browser, page } = await visitor('unlogged');
    const answer = await browser.submit(page, 'Sign in', account);
    const token = tokenOf(answer);
    expect(token).toMatch(/^[\w-]{32}$/);
    await browser.get(`/auth/callback?token=${token}`);
    const logged = service.logged();
    expect(logged).toContain('/auth/desktop-handoff');
    for (const secret of [token, PASSWORD, formOf(page, 'Sign in').values.csrf_token!, browser.cookie])
      expect(logged).not.toContain(secret);
  });
});

describe('a session that was handed over', () => {
  async function handedOver(name: string) {
    const { account, browser, page } = await visitor(name);
    const answer = await browser.submit(page, 'Sign in', account);
    const { body } = await verify(tokenOf(answer)).expect(200);
    return { browser, sessionToken: String(body.session.token) };
  }

  it('is separate from that of the browser', async () => {
    const { browser, sessionToken } = await handedOver('two-of-them');
    expect(decodeURIComponent(browser.cookie)).not.toContain(sessionToken);
  });

  it('survives the sign-out of the browser', async () => {
    const { browser, sessionToken } = await handedOver('leaves-browser');
    await supertest(service.url)
      .post('/api/auth/sign-out')
      .set({ Cookie: browser.cookie, Origin: BASE_URL })
      .expect(200);
    expect(formsOf(await browser.get(DESKTOP_PATH)).map(({ label }) => label)).not.toContain('Continue');
    expect(await jwtStatus(sessionToken)).toBe(200);
  });

  it('ends without that of the browser when the app signs out', async () => {
    const { browser, sessionToken } = await handedOver('leaves-app');
    const bearer = { Authorization: `Bearer ${sessionToken}`, Origin: BASE_URL };
    await supertest(service.url).post('/api/auth/sign-out').set(bearer).expect(200);
    expect(await jwtStatus(sessionToken)).toBe(401);
    expect(textOf((await browser.get(DESKTOP_PATH)).text)).toContain('Continue as leaves-app');
  });
});

describe('the browser’s own session', () => {
  it('is extended when a page is opened after some days; once expired, its cookie is removed', async () => {
    const { account, browser, page } = await visitor('slider');
    await browser.submit(page, 'Sign in', account);
    const expireIn = (ms: number): Promise<unknown> =>
      service.database.query(
        `UPDATE auth_sessions s SET expires_at = $2, updated_at = $2::timestamptz - interval '7 days'
         FROM users u WHERE u.id = s.user_id AND u.email = $1`,
        [account.email, new Date(Date.now() + ms)],
      );
    await expireIn(2 * DAY_MS);
    const slid = await browser.get(DESKTOP_PATH);
    expect(textOf(slid.text)).toContain('Continue as slider');
    expect(slid.get('Set-Cookie')!.join()).toMatch(/session_token=.*Max-Age=604800/);

    await expireIn(2 * DAY_MS);
    const onwards = await browser.submit(slid, 'Continue');
    expect(onwards.get('Set-Cookie')!.join()).toMatch(/session_token=.*Max-Age=604800/);

    await expireIn(-1000);
    const ended = await browser.get(DESKTOP_PATH);
    expect(formsOf(ended).map(({ label }) => label)).toEqual(['Sign in', 'Sign up']);
    expect(browser.cookieNames).toEqual(['form-secret']);
  });
});

describe('/auth/web-handoff', () => {
  it('names the website, and allows its forms to lead to no other site', async () => {
    const page = await new Visitor(service.url).get(webPath());
    expect(page.status).toBe(200);
    expect(textOf(page.text)).toContain('Sign in to editor.example.org');
    expect(policyOf(page.headers)['form-action']).toBe(`'self' ${EDITOR}`);
  });

  it('redirects to the website with 303 and a one-time token', async () => {
    const { account, browser, page } = await visitor('web-alice', webPath());
    const answer = await browser.submit(page, 'Sign in', account);
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toMatch(
      new RegExp(`^${EDITOR}\\?token=[\\w-]{32}&client_state=${CLIENT_STATE}$`),
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['referrer-policy']).toBe('no-referrer');
    expect((await verify(tokenOf(answer)).expect(200)).body.user.email).toBe(account.email);
  });

  it('keeps the query of the configured address', async () => {
    const { account, browser, page } = await visitor('web-query', webPath(ALT));
    expect(policyOf(page.headers)['form-action']).toBe(`'self' https://alt.example.org/callback`);
    const answer = await browser.submit(page, 'Sign in', account);
    expect(answer.headers.location).toMatch(
      /^https:\/\/alt\.example\.org\/callback\?from=sync&token=[\w-]{32}&client_state=/,
    );
  });

  it('continues as the signed-in user', async () => {
    const { account, browser, page } = await visitor('web-back', webPath());
    await browser.submit(page, 'Sign in', account);
    const answer = await browser.submit(await browser.get(webPath()), 'Continue');
    expect(answer.status).toBe(303);
    expect((await verify(tokenOf(answer)).expect(200)).body.user.email).toBe(account.email);
  });
});

describe('assets of the pages', () => {
  it('are cached forever, under names with a hash', async () => {
    const paths = assetsOf(await new Visitor(service.url).get(DESKTOP_PATH));
    expect(new Set(paths).size).toBe(4);
    for (const path of new Set(paths)) {
      const answer = await supertest(service.url).get(path).expect(200);
      expect(path).toMatch(/-[0-9a-f]{16}\.(?:css|js|svg)$/);
      expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(answer.headers['content-type']).toMatch(/^(?:text\/css|text\/javascript|image\/svg\+xml)/);
      expect(answer.headers['set-cookie']).toBeUndefined();
      if (path.endsWith('.js'))
        expect(answer.text.length).toBeLessThanOrEqual(path.includes('passkeys') ? 4096 : 2048);
    }
    await supertest(service.url).get('/auth/assets/page.css').expect(404);
    await supertest(service.url).get('/auth/assets/..%2fpage.ts').expect(404);
  });
});

describe('with SIGNUP_ENABLED=false and an https address', () => {
  let closed: TestService;
  beforeAll(async () => {
    closed = await startService({
      beside: service,
      env: { SIGNUP_ENABLED: 'false', BASE_URL: 'https://sync.example.org' },
    });
  });
  afterAll(() => closed.close());

  it('no page offers sign-up, and a form that is posted anyway is 403', async () => {
    const browser = new Visitor(closed.url);
    const page = await browser.get(DESKTOP_PATH);
    expect(page.text).not.toMatch(/sign.?up/i);
    const users = await rowsOf('users');
    const account = { intent: 'sign-up', name: 'Late', email: 'late@example.org', password: PASSWORD };
    expect((await browser.submit(page, 'Sign in', account)).status).toBe(403);
    expect(await rowsOf('users')).toBe(users);
  });

  it('cookies are Secure, with the prefix __Host- or __Secure-', async () => {
    const browser = new Visitor(closed.url);
    const page = await browser.get(DESKTOP_PATH);
    expect(page.get('Set-Cookie')![0]).toMatch(
      /^__Host-form-secret=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const account = await signUp('secure');
    const answer = await browser.submit(page, 'Sign in', account, { Origin: 'https://sync.example.org' });
    expect(answer.status).toBe(200);
    expect(answer.get('Set-Cookie')!.join()).toMatch(/^__Secure-.*; Secure/);
  });
});

describe('callback addresses', () => {
  const start = (env: Record<string, string>): Promise<TestService> => startService({ beside: service, env });
  const production = {
    NODE_ENV: 'production',
    AUTH_SECRET: 'a secret of production, long enough for it',
    BASE_URL: 'https://sync.example.org',
    EMAIL_VERIFICATION: 'optional',
  };

  it('may be http://localhost in development', async () => {
    const local = await start({ EDITOR_CALLBACK_URL: 'http://localhost:5173/callback' });
    try {
      const page = await new Visitor(local.url).get(webPath('http://localhost:5173/callback'));
      expect(page.status).toBe(200);
      expect(policyOf(page.headers)['form-action']).toBe(`'self' http://localhost:5173/callback`);
    } finally {
      await local.close();
    }
  });

  it.each([
    [
      'http://localhost in production',
      { ...production, EDITOR_CALLBACK_URL: 'http://localhost:5173/callback' },
    ],
    ['http elsewhere', { ALT_CALLBACK_URL: 'http://editor.example.org/callback' }],
    ['a host that begins with localhost', { ALT_CALLBACK_URL: 'http://localhost.example.org/callback' }],
    ['a user name', { EDITOR_CALLBACK_URL: 'https://user@editor.example.org/callback' }],
    ['a fragment', { EDITOR_CALLBACK_URL: 'https://editor.example.org/callback#top' }],
  ])('prevent the start when configured with %s', async (_, env) => {
    await expect(start(env)).rejects.toThrow(/^Bad configuration: (?:EDITOR|ALT)_CALLBACK_URL must be/);
  });
});

describe('when the database fails', () => {
  async function without(table: string, work: () => Promise<void>): Promise<void> {
    await service.database.query(`ALTER TABLE ${table} RENAME TO ${table}_away`);
    try {
      await work();
    } finally {
      await service.database.query(`ALTER TABLE ${table}_away RENAME TO ${table}`);
    }
  }

  it.each(['auth_sessions', 'auth_verifications'])(
    'a handoff without the table %s is 500 with a page, and leaves no session',
    async (table) => {
      const { account, browser, page } = await visitor(`without-${table}`);
      await browser.submit(page, 'Sign in', account);
      const again = await browser.get(DESKTOP_PATH);
      const sessions = await rowsOf('auth_sessions');
      await without(table, async () => {
        const answer = await browser.submit(again, 'Continue');
        expect(answer.status).toBe(500);
        expect(answer.headers['content-type']).toMatch(/^text\/html/);
        expect(textOf(answer.text)).toContain('500: Internal server error.');
        expect(answer.text).not.toMatch(/auth_|relation|SELECT/);
      });
      expect(await rowsOf('auth_sessions')).toBe(sessions);
    },
  );
});

describe('a read-only service', () => {
  afterEach(() => setMode('off'));

  const setMode = async (mode: 'off' | 'read-only'): Promise<void> => {
    await service.app.get(KillSwitch).set(mode);
    await service.app.get(KillSwitch).look();
  };

  it('allows sign-ins, and refuses sign-ups', async () => {
    const { account, browser, page } = await visitor('patient');
    await setMode('read-only');
    expect((await browser.submit(page, 'Sign in', account)).status).toBe(200);
    const fresh = { name: 'Fresh', email: 'too-early@example.org', password: PASSWORD };
    const stranger = new Visitor(service.url);
    const refused = await stranger.submit(await stranger.get(DESKTOP_PATH), 'Sign up', fresh);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('30');
    expect(refused.headers['content-type']).toMatch(/^text\/html/);
  });
});
