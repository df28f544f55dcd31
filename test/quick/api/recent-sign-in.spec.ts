import supertest from 'supertest';
import { AuditLog } from '../../../src/domain/auth/audit/index.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { elementOf, formOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const HANDOFF = '/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789';
const ELEVEN_MINUTES = 11 * 60_000;

let service: TestService;
let advancedMs = 0;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
afterEach(() => advance(-advancedMs)); // else JWTs, dated by the system clock, would have expired

function advance(ms: number): void {
  advancedMs += ms;
  service.clock.advance(ms);
}

interface Person {
  readonly id: string;
  readonly email: string;
  /** The session's token, for the API. */
  readonly session: string;
}

async function signUp(name: string): Promise<Person> {
  const email = `${name}@example.org`;
  const { body } = await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name, password: PASSWORD })
    .expect(200);
  return { id: body.user.id, email, session: body.token };
}

async function jwtOf(session: string): Promise<string> {
  const { body } = await supertest(service.url)
    .get('/api/auth/token')
    .set('Authorization', `Bearer ${session}`)
    .expect(200);
  return body.token;
}

const deleteAccount = (jwt: string, confirm: string): supertest.Test =>
  supertest(service.url).delete('/api/v1/auth/me').set('Authorization', `Bearer ${jwt}`).send({ confirm });

async function browserOf(email: string): Promise<Visitor> {
  const browser = new Visitor(service.url);
  await browser.submit(await browser.get('/account'), 'Sign in', { email, password: PASSWORD });
  return browser;
}

describe('an API route that needs a recent sign-in', () => {
  it('accepts a JWT of a session that began in the last ten minutes', async () => {
    const { email, session } = await signUp('recent');
    await deleteAccount(await jwtOf(session), email).expect(200);
  });

  it('refuses a new JWT of an older session with 403, and changes nothing', async () => {
    const { email, session } = await signUp('older');
    advance(ELEVEN_MINUTES);
    const jwt = await jwtOf(session);
    const { body } = await deleteAccount(jwt, email).expect(403);
    expect(body).toEqual({ error: 'recent sign-in required' });
    await supertest(service.url).get('/api/v1/auth/me').set('Authorization', `Bearer ${jwt}`).expect(200);
  });

  it('does not count a handoff as a sign-in when the browser only continues', async () => {
    const { email } = await signUp('continued');
    const browser = await browserOf(email);
    advance(ELEVEN_MINUTES);
    const answer = await browser.submit(await browser.get(HANDOFF), 'Continue');
    const token = new URL(elementOf(answer, 'link').value!).searchParams.get('token')!;
    const { body } = await supertest(service.url)
      .post('/api/auth/one-time-token/verify')
      .set('Origin', BASE_URL)
      .send({ token })
      .expect(200);
    await deleteAccount(await jwtOf(body.session.token), email).expect(403);
  });

  it('does not show the time of the sign-in in answers of the identity handler', async () => {
    const { session } = await signUp('quiet');
    const { text } = await supertest(service.url)
      .get('/api/auth/get-session')
      .set('Authorization', `Bearer ${session}`)
      .expect(200);
    expect(text).not.toMatch(/confirmed/i);
  });
});

describe('a recent sign-in on the account page', () => {
  const mint = async (browser: Visitor, fields: Record<string, string>): Promise<supertest.Response> =>
    browser.submit(await browser.get('/account'), 'New token', {
      name: 'one',
      scopes: 'full',
      workspace: '',
      expiry: '90',
      ...fields,
    });

  it('is enough for a token with all rights', async () => {
    const browser = await browserOf((await signUp('fresh')).email);
    expect(formOf(await browser.get('/account'), 'New token').values).not.toHaveProperty('confirm_password');
    expect(textOf((await mint(browser, {})).text)).toContain('The new token one');
  });

  it.each([
    ['all rights', { scopes: 'full', expiry: '90' }],
    ['no expiry', { scopes: 'documents:read', expiry: 'never' }],
  ])('can be replaced by the password for a token with %s', async (what, fields) => {
    const browser = await browserOf((await signUp(`stale-${what.replace(' ', '-')}`)).email);
    advance(ELEVEN_MINUTES);
    const missing = await mint(browser, fields);
    expect(missing.status).toBe(422);
    expect(textOf(missing.text)).toContain('Enter your password.');
    const wrong = await mint(browser, { ...fields, confirm_password: 'not the password' });
    expect(wrong.status).toBe(422);
    expect(textOf(wrong.text)).toContain('This is not your password.');
    expect(textOf(wrong.text)).not.toContain('The new token');

    const right = await mint(browser, { ...fields, confirm_password: PASSWORD });
    expect(textOf(right.text)).toContain('The new token one');
    const again = await mint(browser, { ...fields, name: 'two' });
    expect(textOf(again.text)).toContain('The new token two');
  });

  it('is not needed for a token that expires and can only read', async () => {
    const browser = await browserOf((await signUp('harmless')).email);
    advance(ELEVEN_MINUTES);
    const page = await mint(browser, { scopes: 'documents:read', expiry: '30' });
    expect(textOf(page.text)).toContain('The new token one');
  });
});

describe('the audit log', () => {
  it('records a change of the password with its client, and no failed attempt', async () => {
    const { id, session } = await signUp('audited');
    const change = (currentPassword: string): supertest.Test =>
      supertest(service.url)
        .post('/api/auth/change-password')
        .set('Origin', BASE_URL)
        .set('User-Agent', 'a client')
        .set('Authorization', `Bearer ${session}`)
        .send({ currentPassword, newPassword: 'another battery staple' });
    await change('wrong and long enough').expect(400);
    expect(await service.app.get(AuditLog).ofUser(id, 10)).toEqual([]);
    await change(PASSWORD).expect(200);
    expect(await service.app.get(AuditLog).ofUser(id, 10)).toEqual([
      expect.objectContaining({
        action: 'password.changed',
        actor: 'user',
        ip: '127.0.0.1',
        userAgent: 'a client',
        details: {},
      }),
    ]);
  });
});
