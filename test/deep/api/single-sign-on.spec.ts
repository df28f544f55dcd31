import supertest from 'supertest';
import { Invitations } from '../../../src/domain/accounts/index.js';
import { AUDIT_ACTIONS } from '../../../src/domain/auth/audit/index.js';
import { FactorReset, ProviderLinks } from '../../../src/domain/auth/index.js';
import { LinkedAccounts } from '../../../src/domain/auth/single-sign-on/index.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { OidcProvider, type Person } from '../../kit/oidc-provider.js';
import { turnOnFactor } from '../../kit/second-factor.js';
import { formOf, formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const CLIENT_STATE = 'a-state-of-the-app_0123456789';
const EDITOR = 'https://editor.example.org/auth/callback';
const DESKTOP = `/auth/desktop-handoff?client_state=${CLIENT_STATE}`;
const WEB = `/auth/web-handoff?client_state=${CLIENT_STATE}&return_to=${encodeURIComponent(EDITOR)}`;
const BUTTON = 'Continue with Our Login';

let provider: OidcProvider;
let service: TestService;
beforeAll(async () => {
  provider = await OidcProvider.start({ serviceUrl: BASE_URL });
  service = await startService({ env: { ...provider.env, EDITOR_CALLBACK_URL: EDITOR } });
});
afterAll(async () => {
  await service.close();
  provider.close();
});
afterEach(() => {
  provider.forge = undefined;
  provider.faults.clear();
});

/** The address to which a page redirects. */
const addressOf = (page: supertest.Response): string => String(page.headers.refresh).replace(/^0; url=/, '');

/** Begins a sign-in on a page. */
async function begin(browser: Visitor, page = '/account', button = BUTTON): Promise<string> {
  const left = await browser.submit(await browser.get(page), button);
  expect(left.status).toBe(200);
  return addressOf(left);
}

/** Signs in completely. Returns the response to the callback. */
async function signIn(person: Person, browser: Visitor, page = '/account'): Promise<supertest.Response> {
  return browser.get(await provider.signIn(await begin(browser, page), person));
}

/** The user signed in with a browser. */
async function userOf(browser: Visitor, at = service): Promise<{ id: string; email: string } | null> {
  const headers = { Cookie: browser.cookie, 'Sec-Fetch-Site': 'same-origin' };
  const answer = await supertest(at.url).get('/api/auth/get-session').set(headers);
  return (answer.body as { user: { id: string; email: string } } | null)?.user ?? null;
}

async function signUp(name: string): Promise<{ token: string; id: string }> {
  const { body } = await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email: `${name}@example.org`, name, password: PASSWORD })
    .expect(200);
  return { token: String(body.token), id: String(body.user.id) };
}

function without<T>(fields: Readonly<Record<string, T>>, name: string): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}

const rowsOf = async (table: string): Promise<number> =>
  Number((await service.database.query(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n);

/** Nobody is signed in, and no account, link or session has been created. */
async function expectRefused(browser: Visitor, act: () => Promise<supertest.Response>, words: string) {
  const tables = ['users', 'auth_accounts', 'auth_sessions'];
  const before = await Promise.all(tables.map(rowsOf));
  const answer = await act();
  expect(textOf(answer.text)).toContain(words);
  expect({ status: answer.status, location: answer.headers.location }).toEqual({ status: 403 });
  expect(await Promise.all(tables.map(rowsOf))).toEqual(before);
  expect(await userOf(browser)).toBeNull();
  return answer;
}

describe('a sign-in through the provider', () => {
  it('creates an account with the verified address, and returns to the account page', async () => {
    const browser = new Visitor(service.url);
    const answer = await signIn(provider.person('ada', { email: 'Ada@Example.org' }), browser);
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    expect(textOf((await browser.get('/account')).text)).toContain('ada ada@example.org Sign out');
    const [user] = await service.database.query(`SELECT * FROM users WHERE email = 'ada@example.org'`);
    expect(user).toMatchObject({ name: 'ada', email_verified: true });
  });

  it('finds the account by issuer and subject, whatever the address at the provider is now', async () => {
    const before = new Visitor(service.url);
    await signIn(provider.person('bea'), before);
    const other = await signUp('beas-new-address');
    const after = new Visitor(service.url);
    const moved = provider.person('bea', { email: 'beas-new-address@example.org', email_verified: false });
    expect((await signIn(moved, after)).status).toBe(303);
    expect(await userOf(after)).toEqual(await userOf(before));
    expect((await userOf(after))?.email).toBe('bea@example.org');
    expect((await userOf(after))?.id).not.toBe(other.id);
  });

  it.each([
    ['the desktop handoff', DESKTOP, `${DESKTOP}&scheme=cloudsync`],
    ['the web handoff', WEB, WEB],
  ])('returns to %s that began it', async (_, path, shown) => {
    const browser = new Visitor(service.url);
    const answer = await signIn(provider.person(`handoff-${path.length}`), browser, path);
    expect(answer.status).toBe(303);
    expect(new URL(answer.headers.location!, BASE_URL)).toEqual(new URL(shown, BASE_URL));
    const page = await browser.get(answer.headers.location!);
    const done = await browser.submit(page, 'Continue');
    const link = done.headers.location ?? /token=([^&"]+)/.exec(done.text)?.[0];
    expect(link).toMatch(/token=/);
  });

  it('begins on one instance and ends on another', async () => {
    const beside = await startService({ beside: service, env: provider.env });
    try {
      const browser = new Visitor(service.url);
      const back = await provider.signIn(await begin(browser), provider.person('cleo'));
      const other = new Visitor(beside.url);
      for (const pair of browser.cookie.split('; '))
        other.setCookie(...(pair.split(/=(.*)/s) as [string, string]));
      expect((await other.get(back)).status).toBe(303);
      expect((await userOf(other, beside))?.email).toBe('cleo@example.org');
    } finally {
      await beside.close();
    }
  });

  it('creates one account when a person signs in three times at once', async () => {
    const person = provider.person('twins');
    const browsers = [new Visitor(service.url), new Visitor(service.url), new Visitor(service.url)];
    const backs: string[] = [];
    for (const browser of browsers) backs.push(await provider.signIn(await begin(browser), person));
    const answers = await Promise.all(browsers.map((browser, at) => browser.get(backs[at]!)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    const ids = await Promise.all(browsers.map(async (browser) => (await userOf(browser))?.id));
    expect(new Set(ids).size).toBe(1);
  });

  it('stores neither codes nor tokens, and logs no secret', async () => {
    const browser = new Visitor(service.url);
    const back = await provider.signIn(await begin(browser), provider.person('silent'));
    await browser.get(back);
    const { code, state } = Object.fromEntries(new URL(back, BASE_URL).searchParams) as Record<
      string,
      string
    >;
    const secrets = [code!, state!, provider.env.OIDC_CLIENT_SECRET!, ...provider.handedOut];
    expect(secrets.length).toBeGreaterThan(4);
    expect(secrets.filter((secret) => service.logged().includes(secret))).toEqual([]);
    const rows = JSON.stringify([
      await service.database.query('SELECT * FROM auth_accounts'),
      await service.database.query('SELECT * FROM auth_verifications'),
    ]);
    expect(secrets.filter((secret) => rows.includes(secret))).toEqual([]);
  });

  it('ends at the service but not at the provider when the user signs out', async () => {
    const browser = new Visitor(service.url);
    const atProvider = new Visitor(provider.url);
    const person = provider.person('dora');
    await browser.get(await provider.signIn(await begin(browser), person, atProvider));
    const before = provider.requests.length;
    await browser.submit(await browser.get('/account'), 'Sign out');
    expect(provider.requests.slice(before)).toEqual([]);
    expect(await userOf(browser)).toBeNull();
  });

  it('counts towards the cap of 200 sessions', async () => {
    const browser = new Visitor(service.url);
    await signIn(provider.person('counted'), browser);
    const { id } = (await userOf(browser))!;
    await service.database.query(
      `INSERT INTO auth_sessions (user_id, token, expires_at, updated_at)
       SELECT $1, 'old-' || n, now() + interval '1 day', now() - interval '1 day' FROM generate_series(1, 199) n`,
      [id],
    );
    await signIn(provider.person('counted'), new Visitor(service.url));
    const [row] = await service.database.query(
      'SELECT count(*)::int AS n FROM auth_sessions WHERE user_id = $1',
      [id],
    );
    expect(row).toEqual({ n: 200 });
  });

  it('is refused to a suspended account', async () => {
    const browser = new Visitor(service.url);
    await signIn(provider.person('ned'), browser);
    await service.database.query(`UPDATE users SET suspended_at = now() WHERE email = 'ned@example.org'`);
    const again = new Visitor(service.url);
    await expectRefused(again, () => signIn(provider.person('ned'), again), 'the account is suspended');
  });
});

describe('a sign-in to an account with a second factor', () => {
  /** A user with a verified address and a second factor, known at the provider. */
  async function protectedUser(name: string) {
    const { id, token } = await signUp(name);
    await service.database.query('UPDATE users SET email_verified = true WHERE id = $1', [id]);
    return { id, factor: await turnOnFactor(service, token), person: provider.person(name) };
  }

  const sessionsOf = async (id: string): Promise<number> =>
    Number(
      (
        await service.database.query('SELECT count(*)::int AS n FROM auth_sessions WHERE user_id = $1', [id])
      )[0]!.n,
    );

  it('asks for the code, and only then begins a session', async () => {
    const { id, factor, person } = await protectedUser('two-steps');
    const before = await sessionsOf(id);
    const browser = new Visitor(service.url);
    const page = await signIn(person, browser);
    expect([page.status, page.headers.location]).toEqual([200, undefined]);
    expect(textOf(page.text)).toContain('This account has a second factor.');
    expect(textOf(page.text)).not.toContain('password is right');
    expect(await userOf(browser)).toBeNull();
    expect(await sessionsOf(id)).toBe(before);

    const wrong = await browser.submit(page, 'Enter the code', { code: '000000' });
    expect(wrong.status).toBe(422);
    expect(await sessionsOf(id)).toBe(before);
    const done = await browser.submit(wrong, 'Enter the code', { code: factor.code() });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await userOf(browser))?.id).toBe(id);
  });

  it('works without a password', async () => {
    const { id, factor, person } = await protectedUser('no-password');
    await service.database.query('DELETE FROM auth_accounts WHERE user_id = $1', [id]);
    const browser = new Visitor(service.url);
    const page = await signIn(person, browser);
    await browser.submit(page, 'Enter a backup code', { code: factor.backupCodes[0]! });
    expect((await userOf(browser))?.id).toBe(id);
  });

  it.each([
    ['desktop', DESKTOP],
    ['web', WEB],
  ])('continues to the one-time token of the %s handoff after the code', async (kind, path) => {
    const { factor, person } = await protectedUser(`code-${kind}`);
    const browser = new Visitor(service.url);
    const page = await signIn(person, browser, path);
    expect(page.text).not.toMatch(/token=/);
    if (kind === 'web') expect(page.headers['content-security-policy']).toContain(EDITOR);
    const done = await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect(done.headers.location ?? done.text).toMatch(/token=/);
  });

  it('is refused once the account is suspended, also with the right code', async () => {
    const { id, factor, person } = await protectedUser('suspended-at-code');
    const browser = new Visitor(service.url);
    const page = await signIn(person, browser);
    await service.database.query('UPDATE users SET suspended_at = now() WHERE id = $1', [id]);
    const answer = await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect(answer.status).toBe(403);
    await service.database.query('UPDATE users SET suspended_at = NULL WHERE id = $1', [id]);
    expect(await userOf(browser)).toBeNull();
  });

  it('is invalid after a reset of the factors', async () => {
    const { id, factor, person } = await protectedUser('reset-at-code');
    const browser = new Visitor(service.url);
    const page = await signIn(person, browser);
    await service.app.get(FactorReset).run(id);
    await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect(await userOf(browser)).toBeNull();
  });
});

describe('an existing account', () => {
  it('is linked by its verified address, and the audit log records it', async () => {
    const { id } = await signUp('erin');
    await service.database.query('UPDATE users SET email_verified = true WHERE id = $1', [id]);
    const browser = new Visitor(service.url);
    await signIn(provider.person('erin'), browser);
    expect((await userOf(browser))?.id).toBe(id);
    const events = await service.database.query(
      'SELECT action, details FROM audit_events WHERE user_id = $1',
      [id],
    );
    expect(events).toEqual([
      {
        action: 'single-sign-on.linked' satisfies (typeof AUDIT_ACTIONS)[number],
        details: { provider: 'Our Login', endsEarlierAccess: false },
      },
    ]);
    // Its password still works.
    await supertest(service.url)
      .post('/api/auth/sign-in/email')
      .set('Origin', BASE_URL)
      .send({ email: 'erin@example.org', password: PASSWORD })
      .expect(200);
  });

  it('loses its password, sessions and tokens if its address was never verified', async () => {
    const { id, token } = await signUp('fay');
    const user = await service.newcomer('fay');
    const pat = await user.post('/api/v1/auth/tokens').send({ name: 'before', scopes: ['full'] });
    expect(pat.status).toBe(201);
    const browser = new Visitor(service.url);
    await signIn(provider.person('fay'), browser);
    expect((await userOf(browser))?.id).toBe(id);
    const statuses = {
      password: await supertest(service.url)
        .post('/api/auth/sign-in/email')
        .set('Origin', BASE_URL)
        .send({ email: 'fay@example.org', password: PASSWORD }),
      session: await supertest(service.url).get('/api/auth/token').set('Authorization', `Bearer ${token}`),
      token: await supertest(service.url)
        .get('/api/v1/workspaces')
        .set('Authorization', `Bearer ${String(pat.body.token)}`),
    };
    expect(Object.entries(statuses).map(([name, { status }]) => [name, status])).toEqual([
      ['password', 401],
      ['session', 401],
      ['token', 401],
    ]);
  });

  it('loses its second factor and passkeys in that case', async () => {
    const { id, token } = await signUp('fern');
    await turnOnFactor(service, token);
    await service.database.query(
      `INSERT INTO auth_passkeys (user_id, public_key, credential_id, counter, device_type, backed_up, created_at)
       VALUES ($1, 'not used', 'of a stranger', 0, 'singleDevice', false, now())`,
      [id],
    );
    const browser = new Visitor(service.url);
    expect((await signIn(provider.person('fern'), browser)).status).toBe(303);
    expect(await userOf(browser)).toMatchObject({ id, twoFactorEnabled: false });
    for (const table of ['auth_two_factors', 'auth_passkeys'])
      expect(await service.database.query(`SELECT FROM ${table} WHERE user_id = $1`, [id])).toEqual([]);
  });

  it('keeps its password if the browser is signed in to it', async () => {
    const { id } = await signUp('gus');
    const browser = new Visitor(service.url);
    await browser.submit(await browser.get('/account'), 'Sign in', {
      email: 'gus@example.org',
      password: PASSWORD,
    });
    await signIn(provider.person('gus'), browser, DESKTOP);
    expect((await userOf(browser))?.id).toBe(id);
    const [row] = await service.database.query(
      'SELECT count(*)::int AS n FROM auth_accounts WHERE user_id = $1',
      [id],
    );
    expect(row).toEqual({ n: 2 });
  });

  it.each([
    ['false', false],
    ['absent', undefined],
    ['a text', 'true'],
  ])('is not linked when email_verified is %s', async (name, email_verified) => {
    await signUp(`hal-${name.replace(' ', '-')}`);
    const browser = new Visitor(service.url);
    const person = provider.person(`hal-${name.replace(' ', '-')}`, { email_verified });
    await expectRefused(browser, () => signIn(person, browser), 'Verify it in your account at Our Login');
  });

  it('is not revealed to a person with an unverified address', async () => {
    await signUp('ida');
    const pages = [];
    for (const name of ['ida', 'nobody-yet']) {
      const browser = new Visitor(service.url);
      pages.push((await signIn(provider.person(name, { email_verified: false }), browser)).text);
    }
    expect(pages[0]).toBe(pages[1]);
  });

  it('is not handed to another person who gets its address', async () => {
    await signIn(provider.person('jo'), new Visitor(service.url));
    const successor = provider.person('jos-successor', { email: 'jo@example.org' });
    const browser = new Visitor(service.url);
    await expectRefused(browser, () => signIn(successor, browser), 'already connected to another person');
  });

  it.each([
    ['no address', undefined],
    ['text that is no address', 'somebody'],
    ['an address with a foreign letter', 'аda@example.org'],
  ])('is not found by %s', async (name, email) => {
    const browser = new Visitor(service.url);
    const person = provider.person(`no-address ${name}`, { email });
    await expectRefused(browser, () => signIn(person, browser), 'Your email address is missing');
  });
});

describe('unlinking the provider', () => {
  const DISCONNECT = 'Disconnect Our Login';

  const signInHere = (email: string): supertest.Test =>
    supertest(service.url)
      .post('/api/auth/sign-in/email')
      .set('Origin', BASE_URL)
      .send({ email, password: PASSWORD });

  /** A user with a password and a linked provider, signed in with a browser. */
  async function linked(name: string) {
    const { id, token } = await signUp(name);
    await service.database.query('UPDATE users SET email_verified = true WHERE id = $1', [id]);
    const browser = new Visitor(service.url);
    const person = provider.person(name);
    await signIn(person, browser);
    return { id, token, browser, person, email: `${name}@example.org` };
  }

  const linksOf = (id: string): Promise<unknown[]> =>
    service.database.query(`SELECT FROM auth_accounts WHERE user_id = $1 AND provider_id <> 'credential'`, [
      id,
    ]);

  it('is an action on the account page, which ends the other sessions and is recorded', async () => {
    const { id, token, browser, person, email } = await linked('olga');
    const done = await browser.submit(await browser.get('/account'), DISCONNECT);
    expect([done.status, done.headers.location]).toEqual([303, '/account?done=unlinked']);
    const page = await browser.get(done.headers.location!);
    expect(textOf(page.text)).toContain('Single sign-on is disconnected, and all other sessions have ended.');
    expect(formsOf(page).map(({ label }) => label)).not.toContain(DISCONNECT);
    expect(await linksOf(id)).toEqual([]);
    const other = await supertest(service.url)
      .get('/api/auth/get-session')
      .set('Authorization', `Bearer ${token}`);
    expect(other.body).toBeNull();
    const [event] = await service.database.query(
      `SELECT actor, ip, details FROM audit_events WHERE user_id = $1 AND action = 'single-sign-on.unlinked'`,
      [id],
    );
    expect(event).toEqual({ actor: 'user', ip: '127.0.0.1', details: { provider: 'Our Login' } });
    expect(textOf((await browser.get('/account/activity')).text)).toContain('Disconnected from Our Login');
    await signInHere(email).expect(200);
    // The verified address links it again, as it did first.
    await signIn(person, new Visitor(service.url));
    expect(await linksOf(id)).toHaveLength(1);
  });

  it('needs a recent sign-in, or the password', async () => {
    const { id, browser } = await linked('oda');
    service.clock.advance(10 * 60_000 + 1);
    try {
      const page = await browser.get('/account');
      const wrong = await browser.submit(page, DISCONNECT, { confirm_password: 'wrong password' });
      expect([wrong.status, textOf(wrong.text)]).toEqual([
        422,
        expect.stringContaining('This is not your password.'),
      ]);
      expect(await linksOf(id)).toHaveLength(1);
      const done = await browser.submit(wrong, DISCONNECT, { confirm_password: PASSWORD });
      expect(done.status).toBe(303);
      expect(await linksOf(id)).toEqual([]);
    } finally {
      service.clock.advance(-(10 * 60_000 + 1));
    }
  });

  it('is refused when the provider is the only way to sign in, and is not offered', async () => {
    const browser = new Visitor(service.url);
    await signIn(provider.person('only-way'), browser);
    const { id } = (await userOf(browser))!;
    const page = await browser.get('/account');
    expect(textOf(page.text)).toContain('It is your only way to sign in, so it cannot be disconnected.');
    const { values } = formOf(page, 'Change name');
    const form = Object.entries({ csrf_token: values.csrf_token! });
    expect((await browser.post('/account/single-sign-on/disconnect', form)).status).toBe(409);
    expect(await linksOf(id)).toHaveLength(1);

    await service.database.query(
      `INSERT INTO auth_passkeys (user_id, public_key, credential_id, counter, device_type, backed_up, created_at)
       VALUES ($1, 'not used', 'the other way', 0, 'singleDevice', false, now())`,
      [id],
    );
    await browser.submit(await browser.get('/account'), DISCONNECT);
    expect(await linksOf(id)).toEqual([]);
  });

  it('by an operator is possible for the only way to sign in, and ends every session', async () => {
    const browser = new Visitor(service.url);
    await signIn(provider.person('cut-off'), browser);
    const { id } = (await userOf(browser))!;
    const unlinked = await service.app.get(ProviderLinks).unlink(id, { actor: 'operator' });
    expect(unlinked).toEqual({ hasAnotherWay: false, sessions: 1 });
    expect(await userOf(browser)).toBeNull();
    await expect(service.app.get(ProviderLinks).unlink(id, { actor: 'operator' })).rejects.toThrow(
      'not linked',
    );
  });

  it('takes effect at once: a sign-in that has already found the link begins no session', async () => {
    const { id, person } = await linked('overtaken');
    const accounts = service.app.get(LinkedAccounts, { strict: false });
    const find = accounts.find.bind(accounts);
    const found = jest.spyOn(accounts, 'find').mockImplementationOnce(async (subject) => {
      const userId = await find(subject);
      await service.app.get(ProviderLinks).unlink(id, { actor: 'operator' });
      return userId;
    });
    const browser = new Visitor(service.url);
    const answer = await signIn(person, browser);
    expect([answer.status, textOf(answer.text)]).toEqual([
      403,
      expect.stringContaining('This sign-in is over'),
    ]);
    found.mockRestore();
    expect(await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [id])).toEqual([]);
  });

  it('lets another person at the provider link the address', async () => {
    const { id } = await linked('handed-over');
    const successor = provider.person('successor', { email: 'handed-over@example.org' });
    const refused = new Visitor(service.url);
    await expectRefused(refused, () => signIn(successor, refused), 'already connected to another person');
    await service.app.get(ProviderLinks).unlink(id, { actor: 'operator' });
    const browser = new Visitor(service.url);
    expect((await signIn(successor, browser)).status).toBe(303);
    expect((await userOf(browser))?.id).toBe(id);
  });
});

describe('attacks on a sign-in', () => {
  const OVER = 'This sign-in is over';
  const UNVERIFIED = 'could not be verified';

  it('a state works once, even for 20 concurrent requests', async () => {
    const browser = new Visitor(service.url);
    const back = await provider.signIn(await begin(browser), provider.person('kim'));
    const requests = provider.requests.length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.get(back)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array<number>(19).fill(403)]);
    expect(provider.requests.slice(requests).filter((one) => one === 'POST /token')).toHaveLength(1);
    expect(textOf((await browser.get(back)).text)).toContain(OVER);
  });

  it('a state of another browser does nothing, and the other browser can still use it', async () => {
    const victim = new Visitor(service.url);
    await victim.get('/account');
    const attacker = new Visitor(service.url);
    const back = await provider.signIn(await begin(attacker), provider.person('lou'));
    await expectRefused(victim, () => victim.get(back), OVER);
    expect((await attacker.get(back)).status).toBe(303);
  });

  it('a code of another sign-in is refused by the provider', async () => {
    const [attacker, victim] = [new Visitor(service.url), new Visitor(service.url)];
    const stolen = new URL(await provider.signIn(await begin(attacker), provider.person('max')), BASE_URL);
    const own = new URL(await provider.signIn(await begin(victim), provider.person('mia')), BASE_URL);
    own.searchParams.set('code', stolen.searchParams.get('code')!);
    await expectRefused(victim, () => victim.get(own.pathname + own.search), UNVERIFIED);
  });

  it('a callback without a start does nothing', async () => {
    for (const query of ['', '?code=abc', '?code=abc&state=', `?code=abc&state=${'x'.repeat(43)}`]) {
      const browser = new Visitor(service.url);
      const requests = provider.requests.length;
      await expectRefused(browser, () => browser.get(`/auth/single-sign-on/callback${query}`), OVER);
      expect(provider.requests.slice(requests)).toEqual([]);
    }
  });

  it('a sign-in expires after 15 minutes', async () => {
    const browser = new Visitor(service.url);
    const back = await provider.signIn(await begin(browser), provider.person('late'));
    service.clock.advance(15 * 60_000);
    try {
      await expectRefused(browser, () => browser.get(back), OVER);
    } finally {
      service.clock.advance(-15 * 60_000);
    }
  });

  it.each([
    ['another issuer', 'https://evil.example'],
    ['no issuer, though the provider always names it', undefined],
  ])('a callback with %s is refused before the code is sent', async (_, issuer) => {
    const browser = new Visitor(service.url);
    const back = new URL(await provider.signIn(await begin(browser), provider.person('mix')), BASE_URL);
    expect(back.searchParams.get('iss')).toBe(provider.url);
    if (issuer) back.searchParams.set('iss', issuer);
    else back.searchParams.delete('iss');
    const requests = provider.requests.length;
    await expectRefused(browser, () => browser.get(back.pathname + back.search), UNVERIFIED);
    expect(provider.requests.slice(requests)).toEqual([]);
  });

  it('an error of the provider is shown with a link to start again', async () => {
    const browser = new Visitor(service.url);
    const state = new URL(await begin(browser, DESKTOP)).searchParams.get('state');
    const back = `/auth/single-sign-on/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(provider.url)}`;
    const page = await expectRefused(browser, () => browser.get(back), 'has not confirmed the sign-in');
    expect(page.text).toContain(`href="${DESKTOP.replace('&', '&amp;')}&amp;scheme=cloudsync"`);
  });

  it.each<[string, (claims: Record<string, unknown>) => Promise<string> | string]>([
    ['another issuer', (claims) => provider.sign({ ...claims, iss: 'https://evil.example' })],
    ['another audience', (claims) => provider.sign({ ...claims, aud: 'another-service' })],
    [
      'several audiences without an authorized party',
      (claims) => provider.sign({ ...claims, aud: [claims.aud, 'other'] }),
    ],
    ['another authorized party', (claims) => provider.sign({ ...claims, azp: 'another-service' })],
    ['another nonce', (claims) => provider.sign({ ...claims, nonce: 'x'.repeat(43) })],
    ['no nonce', (claims) => provider.sign(without(claims, 'nonce'))],
    ['no subject', (claims) => provider.sign(without(claims, 'sub'))],
    [
      'an expiry in the past',
      (claims) => provider.sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 120 }),
    ],
    ['no expiry', (claims) => provider.sign(without(claims, 'exp'))],
    ['alg none', (claims) => [{ alg: 'none' }, claims].map(encoded).join('.') + '.'],
    ['a signature with the client secret', (claims) => signedBySecret(claims)],
    ['a signature with another key', (claims) => signedByAnother(claims)],
    ['no signature', async (claims) => (await provider.sign(claims)).replace(/[^.]*$/, '')],
    ['no token at all', () => ''],
  ])('an ID token with %s is refused', async (name, forge) => {
    const browser = new Visitor(service.url);
    const person = provider.person(`forged ${name}`, { email: 'forged@example.org' });
    provider.forge = forge;
    await expectRefused(browser, () => signIn(person, browser), UNVERIFIED);
  });

  const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signedBySecret = (claims: Record<string, unknown>): Promise<string> =>
    provider.sign(claims, Buffer.from(provider.env.OIDC_CLIENT_SECRET!), 'HS256');
  async function signedByAnother(claims: Record<string, unknown>): Promise<string> {
    const { generateKeyPair } = await import('jose');
    return provider.sign(claims, (await generateKeyPair('RS256')).privateKey);
  }

  it('a profile of another person is refused', async () => {
    const browser = new Visitor(service.url);
    const back = await provider.signIn(await begin(browser), provider.person('pat'));
    provider.forge = (claims) => provider.sign({ ...claims, sub: 'somebody-else' });
    await expectRefused(browser, () => browser.get(back), UNVERIFIED);
  });

  it.each(['return_to', 'page', 'scheme', 'redirect', 'next', 'callbackURL'])(
    'the query cannot set the page to return to: %s',
    async (name) => {
      const browser = new Visitor(service.url);
      const back = await provider.signIn(await begin(browser), provider.person('quinn'));
      const answer = await browser.get(`${back}&${name}=${encodeURIComponent('https://evil.example/')}`);
      expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    },
  );

  it.each([
    ['page', 'https://evil.example/'],
    ['page', '//evil.example'],
    ['page', undefined],
  ])('the form cannot set a foreign page: %s = %s', async (name, value) => {
    const browser = new Visitor(service.url);
    const answer = await browser.submit(await browser.get('/account'), BUTTON, { [name]: value });
    expect(answer.status).toBe(400);
  });

  it('the form cannot set a foreign target of the web handoff', async () => {
    const browser = new Visitor(service.url);
    const fields = { return_to: 'https://evil.example/' };
    expect((await browser.submit(await browser.get(WEB), BUTTON, fields)).status).toBe(400);
  });

  it('a form with a wrong CSRF token or from another origin begins nothing', async () => {
    const browser = new Visitor(service.url);
    const page = await browser.get('/account');
    const before = await rowsOf('auth_verifications');
    expect((await browser.submit(page, BUTTON, { csrf_token: 'x'.repeat(43) })).status).toBe(403);
    const foreign = { Origin: 'https://evil.example' };
    expect((await browser.submit(page, BUTTON, {}, foreign)).status).toBe(403);
    expect(await rowsOf('auth_verifications')).toBe(before);
  });

  it('the request to the provider has a challenge, and two sign-ins have different secrets', async () => {
    const browser = new Visitor(service.url);
    const [one, two] = [new URL(await begin(browser)), new URL(await begin(browser))];
    expect(Object.fromEntries(one.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'sync-service',
      redirect_uri: `${BASE_URL}/auth/single-sign-on/callback`,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(one.searchParams.get(name)).toMatch(/^[\w-]{43}$/);
      expect(one.searchParams.get(name)).not.toBe(two.searchParams.get(name));
    }
  });
});

describe('a faulty provider', () => {
  const AWAY = 'the sign-in provider cannot be reached';

  async function withService(work: (fresh: TestService) => Promise<void>, env = provider.env): Promise<void> {
    const fresh = await startService({ env });
    try {
      await work(fresh);
    } finally {
      await fresh.close();
    }
  }

  it.each(['away', 'huge', 'redirect', 'broken'] as const)(
    'does not prevent the start, and sign-ins are 503 until it recovers (%s)',
    async (fault) => {
      provider.faults.set('/.well-known', fault);
      await withService(async (fresh) => {
        const browser = new Visitor(fresh.url);
        const page = await browser.get('/account');
        const answer = await browser.submit(page, BUTTON);
        expect([answer.status, textOf(answer.text).includes(AWAY)]).toEqual([503, true]);
        expect(answer.headers['retry-after']).toBeDefined();
        await supertest(fresh.url)
          .post('/api/auth/sign-up/email')
          .set('Origin', BASE_URL)
          .send({ email: 'anybody@example.org', name: 'anybody', password: PASSWORD })
          .expect(200);

        provider.faults.clear();
        fresh.clock.advance(3_000);
        expect((await browser.submit(page, BUTTON)).status).toBe(200);
      });
    },
  );

  it('gets one request for ten concurrent sign-ins while it fails', async () => {
    provider.faults.set('/.well-known', 'away');
    await withService(async (fresh) => {
      const browser = new Visitor(fresh.url);
      const page = await browser.get('/account');
      const before = provider.requests.length;
      const answers = await Promise.all(Array.from({ length: 10 }, () => browser.submit(page, BUTTON)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      expect((await browser.submit(page, BUTTON)).status).toBe(503);
      // The connection that broke may be tried once more by the client.
      expect(provider.requests.length - before).toBeLessThanOrEqual(2);
    });
  });

  it.each([
    ['the document is of another issuer', { issuer: 'https://evil.example' }],
    ['the token endpoint is not https', { token_endpoint: 'http://evil.example/token' }],
    ['it names no keys', { jwks_uri: undefined }],
    ['the authorization endpoint is a script', { authorization_endpoint: 'javascript:alert(1)' }],
  ])('is not used when %s', async (_, discovery) => {
    provider.discovery = discovery;
    try {
      await withService(async (fresh) => {
        const browser = new Visitor(fresh.url);
        expect((await browser.submit(await browser.get('/account'), BUTTON)).status).toBe(503);
      });
    } finally {
      provider.discovery = {};
    }
  });

  it.each([
    ['/token', 'away'],
    ['/token', 'slow'],
    ['/token', 'huge'],
    ['/token', 'redirect'],
    ['/me', 'away'],
    ['/me', 'huge'],
  ] as const)('that fails (%s %s) causes 503, creates nothing and can be retried', async (path, fault) => {
    const browser = new Visitor(service.url);
    const person = provider.person(`unlucky${path.slice(1)}${fault}`);
    const back = await provider.signIn(await begin(browser), person);
    provider.faults.set(path, fault);
    const answer = await browser.get(back);
    expect([answer.status, textOf(answer.text).includes(AWAY)]).toEqual([503, true]);
    provider.faults.clear();
    expect(await service.database.query('SELECT FROM users WHERE email = $1', [person.email!])).toEqual([]);
    expect((await signIn(person, browser)).status).toBe(303);
  });

  it('is not read beyond a limit', async () => {
    const browser = new Visitor(service.url);
    const back = await provider.signIn(await begin(browser), provider.person('endless'));
    provider.faults.set('/token', 'huge');
    const before = provider.poured;
    expect((await browser.get(back)).status).toBe(503);
    expect(provider.poured - before).toBeLessThan(16 * 1024 * 1024); // what the sockets may buffer
  });

  it('that refuses the client secret causes 503, with the reason in the log', async () => {
    await withService(
      async (fresh) => {
        const browser = new Visitor(fresh.url);
        const address = addressOf(await browser.submit(await browser.get('/account'), BUTTON));
        const answer = await browser.get(await provider.signIn(address, provider.person('rose')));
        expect(answer.status).toBe(503);
        expect(fresh.logged()).toContain('the provider refuses OIDC_CLIENT_SECRET');
      },
      { ...provider.env, OIDC_CLIENT_SECRET: 'a wrong secret' },
    );
  });
});

describe('other providers', () => {
  it('may require the secret in the body and put the address into the ID token', async () => {
    const other = await OidcProvider.start({
      serviceUrl: BASE_URL,
      authMethod: 'client_secret_post',
      hasEmailInIdToken: true,
    });
    const beside = await startService({ env: other.env });
    try {
      const browser = new Visitor(beside.url);
      const address = addressOf(await browser.submit(await browser.get('/account'), BUTTON));
      expect((await browser.get(await other.signIn(address, other.person('sam')))).status).toBe(303);
      expect((await userOf(browser, beside))?.email).toBe('sam@example.org');
      expect(other.requests).not.toContain('GET /me');
    } finally {
      await beside.close();
      other.close();
    }
  });
});

describe('a recent sign-in', () => {
  it('is as old as the sign-in at the provider, and can be renewed there', async () => {
    const browser = new Visitor(service.url);
    const person = provider.person('tess');
    provider.forge = (claims) => provider.sign({ ...claims, auth_time: Number(claims.iat) - 3600 });
    await signIn(person, browser);
    const page = await browser.get('/account');
    expect(formsOf(page).map(({ label }) => label)).toContain('Confirm with Our Login');

    provider.forge = (claims) => provider.sign({ ...claims, auth_time: claims.iat });
    const address = await begin(browser, '/account', 'Confirm with Our Login');
    expect(Object.fromEntries(new URL(address).searchParams)).toMatchObject({
      prompt: 'login',
      max_age: '0',
    });
    expect((await browser.get(await provider.signIn(address, person))).status).toBe(303);
    const after = formsOf(await browser.get('/account')).map(({ label }) => label);
    expect(after).not.toContain('Confirm with Our Login');
  });
});

describe('SIGNUP_ENABLED=false', () => {
  it('links people with an account, and tells others whom to ask', async () => {
    const closed = await startService({ beside: service, env: { ...provider.env, SIGNUP_ENABLED: 'false' } });
    try {
      await signUp('uma');
      const enter = async (name: string): Promise<supertest.Response> => {
        const browser = new Visitor(closed.url);
        const address = addressOf(await browser.submit(await browser.get('/account'), BUTTON));
        return browser.get(await provider.signIn(address, provider.person(name)));
      };
      expect((await enter('uma')).status).toBe(303);
      const refused = await enter('vera');
      expect([refused.status, textOf(refused.text)]).toEqual([
        403,
        expect.stringContaining('Ask whoever runs this service for an account'),
      ]);
      expect(await service.database.query(`SELECT FROM users WHERE email = 'vera@example.org'`)).toEqual([]);
    } finally {
      await closed.close();
    }
  });
});

describe('OIDC_ONLY=true', () => {
  let only: TestService;
  beforeAll(async () => {
    only = await startService({ env: { ...provider.env, OIDC_ONLY: 'true', EDITOR_CALLBACK_URL: EDITOR } });
  });
  afterAll(() => only.close());

  it.each(['/account', DESKTOP, WEB])('%s shows only the button', async (path) => {
    const page = await new Visitor(only.url).get(path);
    expect(formsOf(page).map(({ label }) => label)).toEqual([BUTTON]);
  });

  it.each(['sign-in/email', 'sign-up/email', 'change-password'])(
    'POST /api/auth/%s is refused',
    async (action) => {
      const answer = await supertest(only.url)
        .post(`/api/auth/${action}`)
        .set('Origin', BASE_URL)
        .send({ email: 'ada@example.org', name: 'Ada', password: PASSWORD });
      expect([answer.status, answer.body]).toEqual([
        403,
        { error: 'passwords are switched off: sign in through the provider' },
      ]);
    },
  );

  it.each([
    ['/account', { intent: 'sign-in' }],
    ['/account', { intent: 'sign-up', name: 'Ada' }],
    [DESKTOP, { intent: 'sign-in' }],
  ])('a password posted to %s is refused: %j', async (path, fields) => {
    const browser = new Visitor(only.url);
    const { values } = formOf(await browser.get(path), BUTTON);
    const form = { ...without(values, 'page'), ...fields, email: 'ada@example.org', password: PASSWORD };
    expect((await browser.post(path.replace(/\?.*/, ''), Object.entries(form))).status).toBe(403);
  });

  it('people sign in through the provider, and see no password form on the account page', async () => {
    const browser = new Visitor(only.url);
    const address = addressOf(await browser.submit(await browser.get('/account'), BUTTON));
    await browser.get(await provider.signIn(address, provider.person('will')));
    const page = await browser.get('/account');
    expect(textOf(page.text)).toContain('will@example.org');
    expect(formsOf(page).map(({ label }) => label)).not.toContain('Change password');
  });

  it('dev-login still works', async () => {
    await expect(only.newcomer('dev')).resolves.toBeDefined();
  });
});

describe('an invitation with single sign-on while sign-up is closed', () => {
  const servers: TestService[] = [];
  afterAll(() => Promise.all(servers.map((one) => one.close())));

  async function closed(env: Record<string, string> = {}): Promise<TestService> {
    const one = await startService({ env: { ...provider.env, SIGNUP_ENABLED: 'false', ...env } });
    servers.push(one);
    return one;
  }

  const enter = async (at: TestService, person: Person, page = '/account') => {
    const browser = new Visitor(at.url);
    const address = addressOf(await browser.submit(await browser.get(page), BUTTON));
    return { browser, answer: await browser.get(await provider.signIn(address, person)) };
  };

  async function invited(at: TestService, email: string): Promise<string> {
    const { link } = await at.app.get(Invitations).invite(email, { actor: 'operator' });
    return link.slice(new URL(link).origin.length);
  }

  it('creates an account for the verified address once, also under OIDC_ONLY', async () => {
    const only = await closed({ OIDC_ONLY: 'true' });
    const page = await invited(only, 'Xena@Example.org');
    const labels = formsOf(await new Visitor(only.url).get(page)).map(({ label }) => label);
    expect(labels).toEqual([BUTTON]);
    const { browser, answer } = await enter(only, provider.person('xena'), page);
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    const user = (await userOf(browser, only))!;
    expect(user.email).toBe('xena@example.org');
    const events = await only.database.query(
      'SELECT action FROM audit_events WHERE user_id = $1 ORDER BY id',
      [user.id],
    );
    expect(events).toEqual([{ action: 'account.joined' }, { action: 'single-sign-on.linked' }]);
    expect((await new Visitor(only.url).get(page)).status).toBe(404);
    // The account is found by its link from now on.
    expect((await enter(only, provider.person('xena'))).answer.status).toBe(303);
  });

  it('creates no account for an uninvited, unverified, revoked or expired address', async () => {
    const one = await closed();
    const strangers: Person[] = [provider.person('uninvited')];
    await invited(one, 'yves@example.org');
    strangers.push(provider.person('yves', { email_verified: false }));
    await invited(one, 'revoked@example.org');
    await one.app.get(Invitations).revoke('revoked@example.org', { actor: 'operator' });
    strangers.push(provider.person('revoked'));
    await one.database.query(
      `INSERT INTO invitations (email, token_hash, created_at, expires_at)
       VALUES ('late@example.org', sha256('x'), now() - interval '8 days', now() - interval '1 day')`,
    );
    strangers.push(provider.person('late'));
    for (const stranger of strangers) expect((await enter(one, stranger)).answer.status).toBe(403);
    expect(await one.database.query('SELECT FROM users')).toEqual([]);
    // The link itself still creates an account without the provider.
    const page = await invited(one, 'zoe@example.org');
    const browser = new Visitor(one.url);
    const form = await browser.get(page);
    expect(formsOf(form).map(({ label }) => label)).toEqual([BUTTON, 'Make your account']);
    const made = await browser.submit(form, 'Make your account', { name: 'Zoe', password: PASSWORD });
    expect(made.status).toBe(303);
  });

  it('creates one account for a person in three browsers at once', async () => {
    const one = await closed();
    const person = provider.person('thrice');
    await invited(one, 'thrice@example.org');
    const browsers = [new Visitor(one.url), new Visitor(one.url), new Visitor(one.url)];
    const backs: string[] = [];
    for (const browser of browsers) {
      const address = addressOf(await browser.submit(await browser.get('/account'), BUTTON));
      backs.push(await provider.signIn(address, person));
    }
    const answers = await Promise.all(browsers.map((browser, at) => browser.get(backs[at]!)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    expect(await one.database.query('SELECT FROM users')).toHaveLength(1);
  });

  it('creates no account with a password under OIDC_ONLY', async () => {
    const only = await closed({ OIDC_ONLY: 'true' });
    const page = await invited(only, 'quin@example.org');
    const browser = new Visitor(only.url);
    const { values } = formOf(await browser.get(page), BUTTON);
    const token = new URLSearchParams(page.replace(/.*\?/, '')).get('token')!;
    const form = { csrf_token: values.csrf_token!, token, name: 'Quin', password: PASSWORD };
    expect((await browser.post('/account/invitation', Object.entries(form))).status).toBe(403);
    expect(await only.database.query('SELECT FROM users')).toEqual([]);
  });
});

describe('a service without a provider', () => {
  it('answers 404 on the routes and has the button on no page', async () => {
    const plain = await startService({ env: { EDITOR_CALLBACK_URL: EDITOR } });
    try {
      const browser = new Visitor(plain.url);
      for (const path of ['/account', DESKTOP, WEB])
        expect((await browser.get(path)).text).not.toMatch(/single-sign-on|Continue with/);
      const { values } = formOf(await browser.get('/account'), 'Sign in');
      const form = Object.entries({ csrf_token: values.csrf_token!, page: 'account' });
      expect((await browser.post('/auth/single-sign-on', form)).status).toBe(404);
      expect((await browser.get('/auth/single-sign-on/callback?state=x&code=y')).status).toBe(404);
    } finally {
      await plain.close();
    }
  });
});
