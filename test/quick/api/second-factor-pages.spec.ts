import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { codesOf, STEP_MS, type TestFactor, turnOnFactor } from '../../kit/second-factor.js';
import { elementOf, formOf, formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const STATE = 'a-state-of-the-app_0123456789';
const EDITOR = 'https://editor.example.org/auth/callback';
const HANDOFFS = [
  ['desktop', `/auth/desktop-handoff?client_state=${STATE}`],
  ['web', `/auth/web-handoff?client_state=${STATE}&return_to=${encodeURIComponent(EDITOR)}`],
] as const;
const SIGN_IN = { password: PASSWORD };

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { EDITOR_CALLBACK_URL: EDITOR } });
});
afterAll(() => service.close());

interface Somebody {
  readonly email: string;
  readonly session: string;
}

async function signUp(): Promise<Somebody> {
  const name = randomUUID();
  const email = `${name}@example.org`;
  const { body } = await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name, password: PASSWORD })
    .expect(200);
  return { email, session: body.token };
}

async function protectedUser(): Promise<Somebody & { factor: TestFactor }> {
  const somebody = await signUp();
  return { ...somebody, factor: await turnOnFactor(service, somebody.session) };
}

const rowsOf = async (table: string): Promise<number> =>
  Number((await service.database.query(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n);

async function atCode(email: string, path = '/account') {
  const browser = new Visitor(service.url);
  const page = await browser.submit(await browser.get(path), 'Sign in', { email, ...SIGN_IN });
  expect(page.status).toBe(200);
  return { browser, page };
}

describe('signing in at /account with a second factor', () => {
  it('asks for the code, and only then begins a session', async () => {
    const { email, factor } = await protectedUser();
    const { browser, page } = await atCode(email);
    expect(formsOf(page).map(({ label }) => label)).toEqual(['Enter the code', 'Enter a backup code']);
    expect(elementOf(page, 'sign-in-code')).toMatchObject({
      autocomplete: 'one-time-code',
      inputmode: 'numeric',
    });
    expect(browser.cookieNames.some((name) => name.includes('session'))).toBe(false);

    const answer = await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    expect(textOf((await browser.get('/account')).text)).toContain('On. 10 backup codes are left.');
  });

  it('shows the form again with 422 when the code is wrong, and accepts a backup code', async () => {
    const { email, factor } = await protectedUser();
    const { browser, page } = await atCode(email);
    const again = await browser.submit(page, 'Enter the code', { code: '000000' });
    expect(again.status).toBe(422);
    expect(textOf(again.text)).toContain('This code is wrong');
    const backup = await browser.submit(again, 'Enter a backup code', { code: 'aaaaa-aaaaa' });
    expect(backup.status).toBe(422);
    const done = await browser.submit(backup, 'Enter a backup code', { code: factor.backupCodes[0] });
    expect(done.status).toBe(303);
    expect(textOf((await browser.get('/account')).text)).toContain('On. 9 backup codes are left.');
  });

  it('starts over when the code comes after more than ten minutes', async () => {
    const { email, factor } = await protectedUser();
    const { browser, page } = await atCode(email);
    service.clock.advance(10 * 60_000 + 1_000);
    const late = await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect(late.status).toBe(422);
    expect(textOf(late.text)).toContain('The sign-in took too long. Sign in again.');
    expect(formOf(late, 'Sign in')).toBeDefined();
  });

  it('is 429 after five wrong codes', async () => {
    const { email, factor } = await protectedUser();
    const { browser, page } = await atCode(email);
    for (let tries = 0; tries < 5; tries++) await browser.submit(page, 'Enter the code', { code: '000000' });
    const refused = await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect([refused.status, textOf(refused.text)]).toEqual([
      429,
      expect.stringContaining('Too many attempts'),
    ]);
  });
});

describe.each(HANDOFFS)('the %s handoff with a second factor', (kind, path) => {
  it('issues a token only after the code, for the same target', async () => {
    const { email, factor } = await protectedUser();
    const counts = async () => [
      await rowsOf('auth_sessions'),
      await rowsOf(`auth_verifications WHERE identifier LIKE 'one-time%'`),
    ];
    const before = await counts();
    const { browser, page } = await atCode(email, path);
    expect(page.text).toContain(STATE);
    const wrong = await browser.submit(page, 'Enter the code', { code: '000000' });
    expect(wrong.status).toBe(422);
    expect(await counts()).toEqual(before);

    const answer = await browser.submit(wrong, 'Enter the code', { code: factor.code() });
    const target = new URL(String(answer.headers.location ?? elementOf(answer, 'link').value));
    expect(answer.status).toBe(kind === 'web' ? 303 : 200);
    expect(target.searchParams.get('client_state')).toBe(STATE);
    const token = target.searchParams.get('token');
    await supertest(service.url)
      .post('/api/auth/one-time-token/verify')
      .set('Origin', BASE_URL)
      .send({ token })
      .expect(200);
  });

  it('switches a browser to another account only after the code', async () => {
    const first = await signUp();
    const { email, factor } = await protectedUser();
    const browser = new Visitor(service.url);
    await browser.submit(await browser.get('/account'), 'Sign in', { email: first.email, ...SIGN_IN });
    const page = await browser.submit(await browser.get(path), 'Sign in', { email, ...SIGN_IN });
    expect(page.status).toBe(200);
    expect(textOf((await browser.get('/account')).text)).toContain(first.email);
    await browser.submit(page, 'Enter the code', { code: factor.code() });
    expect(textOf((await browser.get('/account')).text)).toContain(email);
  });
});

describe('the second factor on the account page', () => {
  async function signedIn(): Promise<{ browser: Visitor; email: string; session: string }> {
    const somebody = await signUp();
    const browser = new Visitor(service.url);
    await browser.submit(await browser.get('/account'), 'Sign in', { email: somebody.email, ...SIGN_IN });
    return { browser, ...somebody };
  }

  it('is set up with a key, a QR code and a first code, and shows ten backup codes', async () => {
    const { browser, email } = await signedIn();
    const page = await browser.submit(await browser.get('/account'), 'Set up the second factor');
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/<svg class="qr" [^>]*>.*<path d="M\d/s);
    const { uri = '' } = formOf(page, 'Confirm the second factor').values;
    expect(new URL(uri).searchParams.get('secret')).toBe(elementOf(page, 'secret').value);

    const wrong = await browser.submit(page, 'Confirm the second factor', { code: '000000' });
    expect(wrong.status).toBe(422);
    expect(formOf(wrong, 'Confirm the second factor').values.uri).toBe(uri);
    const code = codesOf(service, uri);
    const done = await browser.submit(wrong, 'Confirm the second factor', { code: code() });
    expect(done.status).toBe(200);
    const codes = [...done.text.matchAll(/<li class="code">([^<]+)</g)].map(([, one]) => one);
    expect(new Set(codes).size).toBe(10);

    const other = await atCode(email);
    expect((await other.browser.submit(other.page, 'Enter a backup code', { code: codes[9] })).status).toBe(
      303,
    );
  });

  it('needs the password, or a code, when the sign-in is not recent', async () => {
    const { browser, session } = await signedIn();
    const factor = await turnOnFactor(service, session);
    service.clock.advance(10 * 60_000 + STEP_MS);
    const turnOff = async (given: string | undefined) =>
      browser.submit(await browser.get('/account'), 'Turn it off', { confirm_password: given });
    expect((await turnOff('')).status).toBe(422);
    expect((await turnOff('000000')).status).toBe(422);
    const wrong = await turnOff('not the password');
    expect([wrong.status, textOf(wrong.text)]).toEqual([
      422,
      expect.stringContaining('This is not your password.'),
    ]);
    const done = await turnOff(factor.code());
    expect(done.headers.location).toBe('/account?done=factor-off');
    expect(textOf((await browser.get('/account?done=factor-off')).text)).toContain(
      'The second factor is off.',
    );
  });

  it('can be given new backup codes', async () => {
    const { browser, session } = await signedIn();
    const { backupCodes } = await turnOnFactor(service, session);
    const page = await browser.submit(await browser.get('/account'), 'New backup codes');
    const codes = [...page.text.matchAll(/<li class="code">([^<]+)</g)].map(([, one]) => one);
    expect(codes).toHaveLength(10);
    expect(codes.filter((code) => backupCodes.includes(code!))).toEqual([]);
  });

  it('cannot be set up with a uri that is not a key', async () => {
    const { browser } = await signedIn();
    const page = await browser.submit(await browser.get('/account'), 'Set up the second factor');
    for (const uri of ['', 'https://example.org', 'otpauth://totp/a b'])
      expect((await browser.submit(page, 'Confirm the second factor', { uri, code: '1' })).status).toBe(400);
  });
});
