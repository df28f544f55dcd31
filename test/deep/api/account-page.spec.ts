import supertest from 'supertest';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { KillSwitch, type Mode } from '../../../src/platform/kill-switch.js';
import { assetToken, TestAssets } from '../../kit/assets.js';
import { BASE_URL, startService, type TestService, type TestUser } from '../../kit/index.js';
import { startProvider } from '../../kit/payment-provider.js';
import { elementOf, formOf, formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const DAY_MS = 24 * 60 * 60_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** A user signed in on the account page, and the same user at the API. */
async function signedIn(
  name: string,
  url = service.url,
): Promise<{ browser: Visitor; user: TestUser; email: string }> {
  const email = `${name}@example.org`;
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name, password: PASSWORD })
    .expect(200);
  const browser = new Visitor(url);
  const answer = await browser.submit(await browser.get('/account'), 'Sign in', {
    email,
    password: PASSWORD,
  });
  expect(answer.status).toBe(303);
  return { browser, user: await service.newcomer(name), email };
}

const account = (browser: Visitor): Promise<supertest.Response> => browser.get('/account');

describe('GET /account', () => {
  it('shows a sign-in and a sign-up form to a visitor without a session', async () => {
    const page = await account(new Visitor(service.url));
    expect(page.status).toBe(200);
    expect(formsOf(page).map(({ label, action }) => [label, action])).toEqual([
      ['Sign in', '/account'],
      ['Sign up', '/account'],
    ]);
    expect(page.headers['content-security-policy']).toContain("form-action 'self'; ");
    expect(page.headers['cache-control']).toBe('no-store');
  });

  it('shows the signed-in user, the plan and the storage', async () => {
    const { browser, user, email } = await signedIn('ada');
    expect(textOf((await account(browser)).text)).toContain(`ada ${email} Sign out`);
    expect(textOf((await account(browser)).text)).toContain('0 bytes of 1 GiB in use for attachments');

    await user.post('/api/v1/subscription/trial').expect(200);
    const notes = await user.workspace('notes');
    await TestAssets.of(notes)
      .create(assetToken(), Buffer.alloc(3 * 1024 * 1024))
      .expect(201);
    const page = await account(browser);
    const { trialEndDate } = (await user.get('/api/v1/subscription').expect(200)).body as {
      trialEndDate: string;
    };
    expect(Math.round((Date.parse(trialEndDate) - service.clock.now().getTime()) / DAY_MS)).toBe(30);
    expect(page.text).toMatch(new RegExp(`Trial until <time datetime="${trialEndDate.slice(0, 10)}`, 'i'));
    expect(textOf(page.text)).toContain('3 MiB of 50 GiB in use for attachments');
    expect(page.text).toContain(`value="${3 * 1024 * 1024}"`);

    await notes.put('YQ', Buffer.alloc(2048)).expect(201);
    const { text } = await account(browser);
    expect(textOf(text)).toContain('2 KiB of 50 GiB in use for notes and files, with their history');
    expect(text).toContain('value="2048"');
  });

  it.each([
    ['active', 'Active, renews 1 Jan 2099'],
    ['past_due', 'A payment is overdue'],
    ['cancelled', 'Cancelled, ends 1 Jan 2099'],
    ['expired', 'The subscription has ended'],
  ] as const)('describes a subscription that is %s as "%s"', async (status, words) => {
    const { browser, user } = await signedIn(`subscriber-${status}`);
    await service.app.get(Subscriptions).grant(user.id, status, new Date('2099-01-01T12:00:00Z'));
    expect(textOf((await account(browser)).text)).toContain(words);
  });

  it('contains no session token', async () => {
    const { browser, user } = await signedIn('secretive');
    const { text } = await account(browser);
    const sessions = await service.database.query<{ token: string }>(
      'SELECT token FROM auth_sessions WHERE user_id = $1',
      [user.id],
    );
    expect(sessions.length).toBe(3); // sign-up, the page and dev-login
    for (const { token } of sessions) expect(text).not.toContain(token);
  });
});

describe('POST /account', () => {
  it('shows the form again after a wrong password', async () => {
    const { email } = await signedIn('mistaken');
    const browser = new Visitor(service.url);
    const answer = await browser.submit(await account(browser), 'Sign in', { email, password: 'not this' });
    expect(answer.status).toBe(422);
    expect(elementOf(answer, 'sign-in-password')['aria-invalid']).toBe('true');
    expect(formOf(answer, 'Sign in').action).toBe('/account');
  });

  it('signs up', async () => {
    const browser = new Visitor(service.url);
    const fresh = { name: 'Grace', email: 'grace@example.org', password: PASSWORD };
    const answer = await browser.submit(await account(browser), 'Sign up', fresh);
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toBe('/account');
    expect(textOf((await account(browser)).text)).toContain('Grace grace@example.org');
  });
});

describe('form addresses left in the address bar', () => {
  it.each(['tokens', 'billing'])('GET /account/%s redirects to the account page', async (path) => {
    const answer = await new Visitor(service.url).get(`/account/${path}`);
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toBe('/account');
  });
});

describe('sessions', () => {
  it('are listed with the current one marked; others are signed out one by one or together', async () => {
    const { browser, user, email } = await signedIn('many-places');
    const signInElsewhere = async (userAgent: string): Promise<string> => {
      const { body } = await supertest(service.url)
        .post('/api/auth/sign-in/email')
        .set({ Origin: BASE_URL, 'User-Agent': userAgent })
        .send({ email, password: PASSWORD })
        .expect(200);
      return String(body.token);
    };
    const phone = await signInElsewhere('Mozilla/5.0 (Linux; Android 16) Gecko/145.0 Firefox/145.0');
    const script = await signInElsewhere('curl/8.9');
    const page = await account(browser);
    const text = textOf(page.text);
    expect(text).toContain('Firefox on Android');
    expect(text).toContain('curl/8.9');
    expect(text.match(/This browser/g)).toHaveLength(1);

    expect(formOf(page, 'Sign out Firefox on Android').values.id).toMatch(UUID);
    const answer = await browser.submit(page, 'Sign out Firefox on Android');
    expect(answer.status).toBe(303);
    expect(await userOf(phone)).toBeNull();
    expect(await userOf(script)).toBe(user.id);

    await browser.submit(await account(browser), 'Sign out everywhere else');
    expect(await userOf(script)).toBeNull();
    expect(textOf((await account(browser)).text)).toContain(email);
  });

  const userOf = async (token: string): Promise<string | null> => {
    const bearer = { Authorization: `Bearer ${token}`, Origin: BASE_URL };
    return (await supertest(service.url).get('/api/auth/get-session').set(bearer)).body?.user?.id ?? null;
  };

  it('are all signed out except the current one, however many there are', async () => {
    const { browser, user, email } = await signedIn('crowded');
    await service.database.query(
      `INSERT INTO auth_sessions (user_id, token, expires_at, updated_at)
       SELECT $1, 'crowd-' || n, $2, $2 FROM generate_series(1, 250) n`,
      [user.id, new Date(Date.now() + DAY_MS)],
    );
    await browser.submit(await account(browser), 'Sign out everywhere else');
    expect(
      await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [user.id]),
    ).toHaveLength(1);
    expect(textOf((await account(browser)).text)).toContain(email);
  });

  it('are listed up to 100, this browser first and then the newest', async () => {
    const { browser, user } = await signedIn('haunted');
    await service.database.query(
      `INSERT INTO auth_sessions (user_id, token, user_agent, expires_at, created_at, updated_at)
       SELECT $1, 'ghost-' || n, 'ghost ' || n || '.', $2, $3::timestamptz + n * interval '1 second', $3
       FROM generate_series(1, 150) n`,
      [user.id, new Date(Date.now() + DAY_MS), new Date()],
    );
    const page = await account(browser);
    const text = textOf(page.text);
    expect(text).toMatch(
      /Showing the newest 100\. There may be more\. Unknown client This browser Since .*? ghost 150\. Since/,
    );
    expect(text.match(/ghost \d+\./g)).toHaveLength(99);
    expect((await browser.submit(page, 'Sign out ghost 150.')).status).toBe(303);
    expect(textOf((await account(browser)).text)).not.toContain('ghost 150.');
    const [oldest] = await service.database.query<{ id: string }>(
      `SELECT id FROM auth_sessions WHERE token = 'ghost-1'`,
    );
    const { csrf_token } = formOf(page, 'Sign out').values;
    const fields = Object.entries({ id: oldest!.id, csrf_token: csrf_token! });
    expect((await browser.post('/account/sessions/end', fields)).status).toBe(303);
  });

  it('cannot be ended by another user, who gets 404', async () => {
    const { browser } = await signedIn('intruder');
    const { user: victim } = await signedIn('victim');
    const [session] = await service.database.query<{ id: string }>(
      'SELECT id FROM auth_sessions WHERE user_id = $1 LIMIT 1',
      [victim.id],
    );
    const { csrf_token } = formOf(await account(browser), 'Sign out').values;
    for (const id of [session!.id, 'x', '']) {
      const fields = Object.entries({ id, csrf_token: csrf_token! });
      expect((await browser.post('/account/sessions/end', fields)).status).toBe(404);
    }
    expect(
      await service.database.query('SELECT FROM auth_sessions WHERE id = $1', [session!.id]),
    ).toHaveLength(1);
  });

  it('end on sign-out, which also clears the session cookie', async () => {
    const { browser, user } = await signedIn('leaver');
    const before = await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [user.id]);
    const answer = await browser.submit(await account(browser), 'Sign out');
    expect(answer.status).toBe(303);
    expect(browser.cookieNames).toEqual(['form-secret']);
    expect(
      await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [user.id]),
    ).toHaveLength(before.length - 1);
    expect(formsOf(await account(browser)).map(({ label }) => label)).toContain('Sign in');
  });
});

describe('devices', () => {
  it('are listed and removed', async () => {
    const { browser, user } = await signedIn('devices');
    await user.post('/api/v1/devices').send({ name: 'Laptop "<b>', platform: 'linux' }).expect(201);
    const page = await account(browser);
    expect(textOf(page.text)).toContain('Laptop "<b> linux Registered');
    expect((await browser.submit(page, 'Remove Laptop "<b>')).status).toBe(303);
    expect((await user.get('/api/v1/devices').expect(200)).body.devices).toEqual([]);
    expect((await browser.submit(page, 'Remove Laptop "<b>')).status).toBe(404);
  });
});

describe('access tokens', () => {
  it('are created with scopes, workspace and expiry, and shown once', async () => {
    const { browser, user } = await signedIn('minter');
    await user.post('/api/v1/subscription/trial').expect(200);
    const notes = await user.workspace('Notes');
    const { csrf_token } = formOf(await account(browser), 'New token').values;
    const made = await browser.post('/account/tokens', [
      ['csrf_token', csrf_token!],
      ['name', 'Robot'],
      ['scopes', 'documents:read'],
      ['scopes', 'assets:read'],
      ['workspace', notes.id],
      ['expiry', '30'],
    ]);
    expect(made.status).toBe(200);
    expect(made.headers['cache-control']).toBe('no-store');
    const token = elementOf(made, 'new-token').value!;
    expect(token).toMatch(/^pat_[\w-]{43}$/);

    const { body } = await user.get('/api/v1/auth/tokens').expect(200);
    expect(body.tokens).toEqual([
      expect.objectContaining({
        name: 'Robot',
        scopes: ['documents:read', 'assets:read'],
        workspace_id: notes.id,
      }),
    ]);
    const left = new Date(body.tokens[0].expires_at).getTime() - service.clock.now().getTime();
    expect(Math.round(left / DAY_MS)).toBe(30);
    await user.at(service.url, token).get(`${notes.path}/files`).expect(200);

    const page = await account(browser);
    expect(page.text).not.toContain(token);
    expect(textOf(page.text)).toContain('Robot documents:read assets:read Only Notes, last used');
    expect(service.logged()).not.toContain(token);

    expect((await browser.submit(page, 'Revoke Robot')).status).toBe(303);
    await user.at(service.url, token).get(`${notes.path}/files`).expect(401);
    expect((await account(browser)).text).not.toContain('Revoke Robot');
  });

  it.each([
    ['no name', { name: '' }, 'Enter a name'],
    ['no scope', { scopes: undefined }, 'Choose at least one permission'],
    ['an unknown scope', { scopes: 'admin' }, 'Choose at least one permission'],
    ['no field for the workspace', { workspace: undefined }, 'Choose a workspace, or all of them'],
    ['an expiry that is not offered', { expiry: '100000' }, 'Choose when the token expires'],
  ])('are not created with %s: the form returns with a message', async (what, wrong, words) => {
    const { browser, user } = await signedIn(`no-mint-${what.replaceAll(' ', '-')}`);
    const filledIn = { name: 'Robot', scopes: 'full', workspace: '', expiry: 'never', ...wrong };
    const answer = await browser.submit(await account(browser), 'New token', filledIn);
    expect(answer.status).toBe(422);
    expect(textOf(answer.text)).toContain(words);
    expect((await user.get('/api/v1/auth/tokens').expect(200)).body.tokens).toEqual([]);
  });

  it('keep the chosen expiry when the form returns with an error', async () => {
    const { browser } = await signedIn('chooser');
    const filledIn = { name: '', scopes: 'full', workspace: '', expiry: 'never' };
    const answer = await browser.submit(await account(browser), 'New token', filledIn);
    expect(answer.text).toMatch(/<option value="never" selected/);
    expect(answer.text).not.toMatch(/<option value="90" selected/);
  });

  it('have each scope once, even if the form sends it twice', async () => {
    const { browser, user } = await signedIn('repeater');
    const { csrf_token } = formOf(await account(browser), 'New token').values;
    const scopes = ['assets:read', 'documents:read', 'assets:read'].map(
      (scope) => ['scopes', scope] as const,
    );
    const others = Object.entries({ csrf_token: csrf_token!, name: 'Robot', workspace: '', expiry: '30' });
    expect((await browser.post('/account/tokens', [...others, ...scopes])).status).toBe(200);
    const { body } = await user.get('/api/v1/auth/tokens').expect(200);
    expect(body.tokens[0].scopes).toEqual(['documents:read', 'assets:read']);
  });

  it('cannot be bound to the workspace of another user', async () => {
    const { browser } = await signedIn('binder');
    const stranger = await service.user('stranger-with-workspace');
    const { id } = await stranger.workspace();
    const filledIn = { name: 'Robot', scopes: 'full', workspace: id, expiry: 'never' };
    const page = await account(browser);
    for (const workspace of [id, 'x']) {
      expect((await browser.submit(page, 'New token', { ...filledIn, workspace })).status).toBe(404);
    }
  });
});

describe('forms of the account page', () => {
  const PATHS = [
    'sign-out',
    'sessions/end',
    'sessions/end-others',
    'devices/remove',
    'tokens',
    'tokens/revoke',
    'billing',
  ];

  const traces = async (userId: string): Promise<unknown> =>
    service.database.query(
      `SELECT (SELECT count(*) FROM auth_sessions WHERE user_id = $1) AS sessions,
              (SELECT count(*) FROM access_tokens WHERE user_id = $1 AND revoked_at IS NULL) AS tokens`,
      [userId],
    );

  it.each(PATHS)(
    'POST /account/%s is 403 without its CSRF token or from another site, and changes nothing',
    async (path) => {
      const { browser, user } = await signedIn(`guarded-${path.replace('/', '-')}`);
      const { values } = formOf(await account(browser), 'New token');
      const fields = { name: 'Robot', scopes: 'full', workspace: '', expiry: 'never', id: user.id };
      const before = await traces(user.id);
      const attempts = [
        browser.post(`/account/${path}`, Object.entries(fields)),
        browser.post(`/account/${path}`, Object.entries({ ...fields, csrf_token: 'x'.repeat(43) })),
        browser.post(`/account/${path}`, Object.entries({ ...fields, csrf_token: values.csrf_token! }), {
          Origin: 'https://evil.example',
        }),
      ];
      expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([403, 403, 403]);
      expect(await traces(user.id)).toEqual(before);
    },
  );

  it.each(PATHS)('POST /account/%s sends a visitor without a session to the sign-in form', async (path) => {
    const browser = new Visitor(service.url);
    const { csrf_token } = formOf(await account(browser), 'Sign in').values;
    const answer = await browser.post(`/account/${path}`, [['csrf_token', csrf_token!]]);
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toBe('/account');
  });

  it('let people sign out while the service is read-only, and answer 503 to other writes', async () => {
    const { browser } = await signedIn('reader');
    const page = await account(browser);
    const mode = async (to: Mode): Promise<void> => {
      await service.app.get(KillSwitch).set(to);
      await service.app.get(KillSwitch).look();
    };
    await mode('read-only');
    try {
      const filledIn = { name: 'Robot', scopes: 'full', workspace: '', expiry: 'never' };
      const refused = await browser.submit(page, 'New token', filledIn);
      expect(refused.status).toBe(503);
      expect(refused.headers['content-type']).toMatch(/^text\/html/);
      expect((await account(browser)).status).toBe(200);
      expect((await browser.submit(page, 'Sign out')).status).toBe(303);
    } finally {
      await mode('off');
    }
  });
});

describe('billing', () => {
  it('is not offered without a payment provider, and answers 503 to a request for it', async () => {
    const { browser } = await signedIn('unbilled');
    const page = await account(browser);
    expect(formsOf(page).map(({ label }) => label)).not.toContain('Billing');
    const { csrf_token } = formOf(page, 'Sign out').values;
    expect((await browser.post('/account/billing', [['csrf_token', csrf_token!]])).status).toBe(503);
  });

  it('links to the checkout the first time and to the billing portal after that', async () => {
    const provider = await startProvider();
    const env = {
      STRIPE_SECRET_KEY: 'sk_test_key',
      STRIPE_API_BASE: provider.url,
      STRIPE_PRICE_ID: 'price_1',
    };
    const selling = await startService({ beside: service, env });
    try {
      const { browser } = await signedIn('buyer', selling.url);
      for (const where of ['checkout', 'billing_portal']) {
        const answer = await browser.submit(await account(browser), 'Billing');
        expect(answer.status).toBe(200);
        expect(answer.headers['content-security-policy']).toContain("form-action 'none'");
        expect(answer.text).toMatch(
          new RegExp(`<a class="button" href="https://pay\\.example/${where}/cus_\\w+"`),
        );
      }
    } finally {
      await selling.close();
      await provider.close();
    }
  });
});

describe('the password on the account page', () => {
  const NEW_PASSWORD = 'another battery staple';

  const change = async (
    browser: Visitor,
    current: string,
    next: string,
    more: Record<string, string> = {},
  ): Promise<supertest.Response> =>
    browser.submit(await account(browser), 'Change password', {
      current_password: current,
      new_password: next,
      ...more,
    });

  const signIn = (email: string, password: string): supertest.Test =>
    supertest(service.url).post('/api/auth/sign-in/email').set('Origin', BASE_URL).send({ email, password });

  const me = (token: string): supertest.Test =>
    supertest(service.url).get('/api/v1/auth/me').set('Authorization', `Bearer ${token}`);

  it('is changed with the current one; this browser gets a new session, all others end', async () => {
    const { browser, user, email } = await signedIn('changes-password');
    const stolen = new Visitor(service.url);
    for (const [name = '', value = ''] of browser.cookie.split('; ').map((one) => one.split(/=(.*)/s)))
      stolen.setCookie(name, value);
    const { body: elsewhere } = await signIn(email, PASSWORD).expect(200);
    const { body: minted } = await user.post('/api/v1/auth/tokens').send({ name: 'script' }).expect(201);

    const changed = await change(browser, PASSWORD, NEW_PASSWORD);
    expect([changed.status, changed.headers.location]).toEqual([303, '/account?done=password']);
    const page = await browser.get('/account?done=password');
    expect(textOf(page.text)).toContain('Your password has been changed, and all other sessions have ended.');
    expect(formsOf(page).map(({ label }) => label)).toContain('Change password');
    expect(formsOf(await account(stolen)).map(({ label }) => label)).toContain('Sign in');
    await supertest(service.url)
      .get('/api/auth/token')
      .set('Authorization', `Bearer ${elsewhere.token}`)
      .expect(401);
    await signIn(email, PASSWORD).expect(401);
    await signIn(email, NEW_PASSWORD).expect(200);
    await me(minted.token).expect(200);

    expect((await change(browser, NEW_PASSWORD, PASSWORD, { revoke_tokens: 'yes' })).status).toBe(303);
    await me(minted.token).expect(401);
  });

  it('is not changed by wrong input: the form returns with a message and empty fields', async () => {
    const { browser, email } = await signedIn('slips');
    for (const [current, next, field, sentence] of [
      ['not the password', NEW_PASSWORD, 'current-password', 'This is not your current password.'],
      [PASSWORD, 'too short', 'new-password', 'The password must have at least 10 characters.'],
      [PASSWORD, 'Password123', 'new-password', 'This password is too common. Choose another.'],
    ] as const) {
      const answer = await change(browser, current, next);
      expect(answer.status).toBe(422);
      expect(elementOf(answer, field)).toMatchObject({ 'aria-invalid': 'true', value: '' });
      expect(textOf(answer.text)).toContain(sentence);
    }
    await signIn(email, PASSWORD).expect(200);
    expect((await browser.get('/account/password')).headers.location).toBe('/account');
  });

  it('cannot be changed from another site or by a forged form', async () => {
    const { browser, email } = await signedIn('guarded');
    const filledIn = { current_password: PASSWORD, new_password: NEW_PASSWORD };
    const foreign = await browser.submit(await account(browser), 'Change password', filledIn, {
      Origin: 'https://evil.example',
    });
    expect(foreign.status).toBe(403);
    const forged = { ...filledIn, csrf_token: 'x'.repeat(43) };
    expect((await browser.submit(await account(browser), 'Change password', forged)).status).toBe(403);
    await signIn(email, PASSWORD).expect(200);
  });

  it('cannot be a common one at sign-up', async () => {
    const browser = new Visitor(service.url);
    const answer = await browser.submit(await account(browser), 'Sign up', {
      name: 'Weak',
      email: 'weak@example.org',
      password: '1234567890',
    });
    expect(answer.status).toBe(422);
    expect(elementOf(answer, 'sign-up-password')['aria-invalid']).toBe('true');
    expect(textOf(answer.text)).toContain('This password is too common. Choose another.');
  });
});

describe('too many wrong passwords on the pages', () => {
  it('are counted with those of the API, and the form says how long to wait', async () => {
    const limited = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1000', TRUST_PROXY: 'true' } });
    const from = (n: number): Visitor =>
      new Visitor(limited.url, { Origin: 'null', 'X-Forwarded-For': `198.51.100.${n}` });
    const guess = async (n: number): Promise<supertest.Response> => {
      const browser = from(n);
      const filledIn = { email: 'guessed@example.org', password: 'not the password' };
      return browser.submit(await account(browser), 'Sign in', filledIn);
    };
    for (let n = 1; n <= 20; n++) expect((await guess(n)).status).toBe(422);
    const refused = await guess(21);
    expect(refused.status).toBe(429);
    expect(textOf(refused.text)).toContain('Too many attempts. Wait 60 minutes, then try again.');
    await limited.close();
  });
});
