import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { FactorReset, MAX_PASSKEYS, Passkeys, Suspensions } from '../../../src/domain/auth/index.js';
import { type Ceremony, TestAuthenticator } from '../../kit/authenticator.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { turnOnFactor } from '../../kit/second-factor.js';
import { formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

interface Somebody {
  readonly id: string;
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
  return { id: body.user.id, email, session: body.token };
}

interface Challenge {
  readonly challenge: string;
  readonly cookie: string;
  readonly options: Record<string, unknown>;
}

const bearer = (session: string): Record<string, string> => ({ Authorization: `Bearer ${session}` });

async function challenge(action: string, session?: string): Promise<Challenge> {
  const answer = await supertest(service.url)
    .get(`/api/auth/passkey/${action}`)
    .set(session === undefined ? {} : bearer(session))
    .expect(200);
  const cookie = (answer.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
  return { challenge: answer.body.challenge, cookie, options: answer.body };
}

const post = (action: string, body: object, headers: Record<string, string> = {}): supertest.Test =>
  supertest(service.url)
    .post(`/api/auth/passkey/${action}`)
    .set({ Origin: BASE_URL, ...headers })
    .send(body);

async function add(
  session: string,
  authenticator = new TestAuthenticator(),
  more: Partial<Ceremony> = {},
  name = 'Phone',
): Promise<supertest.Response> {
  const { challenge: text, cookie } = await challenge('generate-register-options', session);
  const response = authenticator.register({ challenge: text, origin: BASE_URL, ...more });
  return post('verify-registration', { response, name }, { ...bearer(session), Cookie: cookie });
}

async function protectedBy(): Promise<Somebody & { authenticator: TestAuthenticator; passkey: string }> {
  const somebody = await signUp();
  const authenticator = new TestAuthenticator();
  const answer = await add(somebody.session, authenticator);
  expect(answer.status).toBe(200);
  return { ...somebody, authenticator, passkey: answer.body.id };
}

async function signIn(
  authenticator: TestAuthenticator,
  more: Partial<Ceremony> = {},
): Promise<supertest.Response> {
  const { challenge: text, cookie } = await challenge('generate-authenticate-options');
  const response = authenticator.assert({ challenge: text, origin: BASE_URL, ...more });
  return post('verify-authentication', { response }, { Cookie: cookie });
}

const sessionsOf = async ({ id }: Somebody): Promise<number> =>
  (await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [id])).length;

const auditOf = async ({ id }: Somebody): Promise<unknown[]> =>
  service.database.query(
    `SELECT action, details->>'kind' AS kind FROM audit_events WHERE user_id = $1 AND action LIKE 'factor%' ORDER BY id`,
    [id],
  );

describe('adding a passkey', () => {
  it('requires a discoverable credential with user verification for this host, and is recorded', async () => {
    const somebody = await signUp();
    const { options } = await challenge('generate-register-options', somebody.session);
    expect(options).toMatchObject({
      rp: { id: 'localhost' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    const answer = await add(somebody.session);
    expect(answer.body).toMatchObject({ name: 'Phone', userId: somebody.id, counter: 0 });
    expect(await auditOf(somebody)).toEqual([{ action: 'factor.added', kind: 'passkey' }]);
  });

  it.each<[string, Partial<Ceremony>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['another host', { rpId: 'evil.example' }],
    ['no user verification', { isVerified: false }],
    ['another challenge', { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  ])('refuses %s', async (_, more) => {
    const somebody = await signUp();
    expect([400, 401]).toContain((await add(somebody.session, undefined, more)).status);
    expect(await auditOf(somebody)).toEqual([]);
  });

  it('needs a session with a recent sign-in', async () => {
    const { session } = await signUp();
    const register = () => supertest(service.url).get('/api/auth/passkey/generate-register-options');
    await register().expect(401);
    service.clock.advance(10 * 60_000 + 1);
    await register()
      .set(bearer(session))
      .expect(403, /recent sign-in required/);
  });

  it('refuses the challenge of another user, and one that was already used', async () => {
    const [ada, eve] = [await signUp(), await signUp()];
    const { challenge: text, cookie } = await challenge('generate-register-options', ada.session);
    const response = new TestAuthenticator().register({ challenge: text, origin: BASE_URL });
    const verify = (session: string) =>
      post('verify-registration', { response }, { ...bearer(session), Cookie: cookie });
    await verify(eve.session).expect(401);
    await verify(ada.session).expect(400);
  });

  it.each([true, 'true', 1, null, {}])('is refused with createSession %p', async (createSession) => {
    const somebody = await signUp();
    await turnOnFactor(service, somebody.session);
    const authenticator = new TestAuthenticator();
    const { challenge: text, cookie } = await challenge('generate-register-options', somebody.session);
    const response = authenticator.register({ challenge: text, origin: BASE_URL });
    const headers = { ...bearer(somebody.session), Cookie: cookie };
    const answer = await post('verify-registration', { response, createSession }, headers).expect(400);
    expect(answer.get('Set-Cookie') ?? []).toEqual([]);
    expect(await sessionsOf(somebody)).toBe(1);
    expect((await signIn(authenticator)).status).toBe(401); // nothing was stored
    await post('verify-registration', { response, createSession: false }, headers).expect(200);
    expect(await sessionsOf(somebody)).toBe(1);
  });

  it(`refuses more than ${MAX_PASSKEYS}, and a name that is too long`, async () => {
    const { session } = await signUp();
    expect((await add(session, undefined, {}, 'x'.repeat(256))).status).toBe(400);
    for (let count = 0; count < MAX_PASSKEYS; count++) expect((await add(session)).status).toBe(200);
    expect((await add(session)).status).toBe(400);
  });
});

describe('signing in with a passkey', () => {
  it('begins a session that counts as recent, also when the account has a second factor', async () => {
    const user = await protectedBy();
    await turnOnFactor(service, user.session);
    const { options } = await challenge('generate-authenticate-options');
    expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' });
    const answer = await signIn(user.authenticator);
    expect(answer.status).toBe(200);
    expect(answer.body.user.id).toBe(user.id);
    const { token } = answer.body.session;
    await supertest(service.url)
      .get('/api/auth/passkey/generate-register-options')
      .set(bearer(token))
      .expect(200);
  });

  it('adds its network to the known ones, and records a new network once', async () => {
    const user = await protectedBy();
    const query = <Row>(text: string): Promise<Row[]> => service.database.query(text, [user.id]);
    const events = (): Promise<unknown[]> =>
      query(`SELECT ip FROM audit_events WHERE user_id = $1 AND action = 'sign-in.new-client'`);
    await query(`UPDATE known_networks SET network = 'network:somewhere else' WHERE user_id = $1`);
    expect((await signIn(user.authenticator)).status).toBe(200);
    expect(await query('SELECT FROM known_networks WHERE user_id = $1')).toHaveLength(2);
    expect(await events()).toEqual([{ ip: '127.0.0.1' }]);
    expect((await signIn(user.authenticator)).status).toBe(200);
    expect(await events()).toHaveLength(1);
  });

  it.each<[string, Partial<Ceremony>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['another host', { rpId: 'evil.example' }],
    ['no user verification', { isVerified: false }],
    ['another challenge', { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  ])('refuses %s', async (_, more) => {
    const user = await protectedBy();
    const before = await sessionsOf(user);
    expect([400, 401]).toContain((await signIn(user.authenticator, more)).status);
    expect(await sessionsOf(user)).toBe(before);
  });

  it('refuses a counter that decreases', async () => {
    const user = await protectedBy();
    user.authenticator.counter = 5;
    expect((await signIn(user.authenticator)).status).toBe(200);
    user.authenticator.counter = 3;
    expect((await signIn(user.authenticator)).status).toBe(400);
  });

  it('accepts an assertion once', async () => {
    const { authenticator } = await protectedBy();
    const { challenge: text, cookie } = await challenge('generate-authenticate-options');
    const response = authenticator.assert({ challenge: text, origin: BASE_URL });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post('verify-authentication', { response }, { Cookie: cookie })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const later = await challenge('generate-authenticate-options');
    await post('verify-authentication', { response }, { Cookie: later.cookie }).expect(400);
  });

  it('refuses an unknown passkey, and another key under the id of a known one', async () => {
    const { authenticator } = await protectedBy();
    const forger = new TestAuthenticator();
    expect((await signIn(forger)).status).toBe(401);
    Object.assign(forger, { id: authenticator.id });
    expect((await signIn(forger)).status).toBe(401);
  });

  it('is refused for a suspended account', async () => {
    const user = await protectedBy();
    await service.app.get(Suspensions).suspend(user.id);
    expect((await signIn(user.authenticator)).status).toBe(403);
  });
});

describe('managing passkeys', () => {
  const remove = (session: string, id: string): supertest.Test =>
    post('delete-passkey', { id }, bearer(session));

  it('removes a passkey, which then cannot sign in, and records it', async () => {
    const user = await protectedBy();
    await remove(user.session, user.passkey).expect(200, { status: true });
    await remove(user.session, user.passkey).expect(404);
    expect((await signIn(user.authenticator)).status).toBe(401);
    expect(await auditOf(user)).toEqual([
      { action: 'factor.added', kind: 'passkey' },
      { action: 'factor.removed', kind: 'passkey' },
    ]);
  });

  it('does not remove the last way to sign in', async () => {
    const user = await protectedBy();
    await service.database.query('DELETE FROM auth_accounts WHERE user_id = $1', [user.id]);
    await remove(user.session, user.passkey).expect(400, /LAST_WAY_TO_SIGN_IN/);
    const second = await add(user.session);
    await remove(user.session, user.passkey).expect(200);
    await remove(user.session, second.body.id).expect(400);
  });

  it('does not list, rename or remove passkeys of other users', async () => {
    const [user, eve] = [await protectedBy(), await protectedBy()];
    await remove(eve.session, user.passkey).expect(404);
    await post('update-passkey', { id: user.passkey, name: 'Mine' }, bearer(eve.session)).expect(401);
    const { body } = await supertest(service.url)
      .get('/api/auth/passkey/list-user-passkeys')
      .set(bearer(eve.session))
      .expect(200);
    expect(body).toEqual([expect.objectContaining({ id: eve.passkey })]);
  });

  it('does not rename an unknown passkey, whatever its id', async () => {
    const user = await protectedBy();
    for (const id of ['00000000-0000-4000-8000-000000000000', 'constructor', '[]', 'a,b', 'A'.repeat(500)]) {
      await post('update-passkey', { id, name: 'Mine' }, bearer(user.session)).expect(
        404,
        /PASSKEY_NOT_FOUND/,
      );
      await post('update-passkey', { id, name: 'Mine' }, {}).expect(401);
    }
  });

  it('removes all passkeys and ends the sessions when the operator resets the factors', async () => {
    const user = await protectedBy();
    await turnOnFactor(service, user.session);
    expect(await service.app.get(FactorReset).run(user.id)).toEqual({ factors: 1, passkeys: 1, sessions: 1 });
    expect(await sessionsOf(user)).toBe(0);
    expect((await signIn(user.authenticator)).status).toBe(401);
    await supertest(service.url)
      .post('/api/auth/sign-in/email')
      .set('Origin', BASE_URL)
      .send({ email: user.email, password: PASSWORD })
      .expect(200, /"token"/);
  });

  it('keeps neither a new passkey nor its session when the factors are reset meanwhile', async () => {
    const user = await protectedBy();
    const passkeys = service.app.get(Passkeys);
    const { id: credential } = user.authenticator;
    const ended = randomUUID();
    expect(await passkeys.check({ id: ended, userId: user.id }, 'removed')).toBe(false);
    expect(await passkeys.check({ id: ended, userId: user.id }, credential)).toBe(true);
    expect(await passkeys.keepNew(user.id, ended, credential)).toBe(false);
    expect(await passkeys.list(user.id)).toEqual([]);
  });

  it('renames and removes passkeys on the account page, the latter after a recent sign-in', async () => {
    const user = await protectedBy();
    const browser = new Visitor(service.url);
    const credentials = { email: user.email, password: PASSWORD };
    await browser.submit(await browser.get('/account'), 'Sign in', credentials);
    await browser.submit(await browser.get('/account'), 'Rename passkey Phone', { name: 'Old phone' });
    service.clock.advance(10 * 60_000 + 1);
    const page = await browser.get('/account');
    expect(formsOf(page).map(({ label }) => label)).not.toContain('Remove passkey Old phone');
    const wrong = await browser.submit(page, 'Confirm that it is you', {
      confirm_password: 'wrong password',
    });
    expect([wrong.status, textOf(wrong.text)]).toEqual([
      422,
      expect.stringContaining('This is not your password.'),
    ]);
    await browser.submit(page, 'Confirm that it is you', { confirm_password: PASSWORD });
    await browser.submit(await browser.get('/account'), 'Remove passkey Old phone');
    expect(textOf((await browser.get('/account')).text)).not.toContain('Old phone');
  });
});
