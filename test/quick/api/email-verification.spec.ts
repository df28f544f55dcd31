import supertest from 'supertest';
import { Mail } from '../../../src/platform/mail/index.js';
import { BASE_URL, eventually, startService, type TestService, TestUser } from '../../kit/index.js';
import { TestSmtp } from '../../kit/smtp.js';
import { formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const DAY_MS = 24 * 60 * 60_000;

let smtp: TestSmtp;
let service: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start();
  service = await startService({ env: smtp.env });
});
afterAll(async () => {
  await service.close();
  await smtp.goAway();
});
beforeEach(() => void (smtp.received.length = 0));

function post(action: string, body: object): supertest.Test {
  return supertest(service.url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body);
}

const signUp = (email: string, name = 'Somebody'): supertest.Test =>
  post('sign-up/email', { email, name, password: PASSWORD });

const signIn = (email: string): supertest.Test => post('sign-in/email', { email, password: PASSWORD });

async function tokenFor(email: string): Promise<string> {
  const { text } = await smtp.mailTo(email);
  return /[?&]token=([\w-]{43})\n/.exec(text)![1]!;
}

async function confirm(
  token: string,
  values: Record<string, string> = { password: PASSWORD },
  label = 'Confirm',
) {
  const visitor = new Visitor(service.url);
  await visitor.get(`/account/verify?token=${token}`);
  const page = await visitor.get('/account/verify');
  return formsOf(page).length > 0 ? visitor.submit(page, label, values) : page;
}

describe('a new account', () => {
  it('has no session until its address is confirmed by the link', async () => {
    const { body, headers } = await signUp('ann@example.org').expect(200);
    expect(body).toMatchObject({ token: null, user: { email: 'ann@example.org', emailVerified: false } });
    expect([headers['set-cookie'], headers['set-auth-token']]).toEqual([undefined, undefined]);
    const refused = await signIn('ann@example.org').expect(403);
    expect(refused.body).toMatchObject({ code: 'EMAIL_NOT_VERIFIED' });

    const token = await tokenFor('ann@example.org');
    const opened = await new Visitor(service.url).get(`/account/verify?token=${token}`);
    expect([opened.status, opened.headers.location]).toEqual([303, '/account/verify']);
    await signIn('ann@example.org').expect(403); // opening the link confirms nothing

    const done = await confirm(token);
    expect(textOf(done.text)).toContain('Your address is confirmed');
    const { body: signedIn } = await signIn('ann@example.org').expect(200);
    expect(signedIn.user.emailVerified).toBe(true);
    expect(textOf((await confirm(token)).text)).toContain('This link does not work any more');
  });

  it('can request another link on the page, which replaces the first', async () => {
    const visitor = new Visitor(service.url);
    const values = { name: 'Bob', email: 'bob@example.org', password: PASSWORD };
    const told = await visitor.submit(await visitor.get('/account'), 'Sign up', values);
    expect(textOf(told.text)).toContain('Check your mail A mail was sent to bob@example.org');
    const first = await tokenFor('bob@example.org');
    const sent = await visitor.submit(told, 'Send another mail');
    expect([sent.status, textOf(sent.text)]).toEqual([
      200,
      expect.stringContaining('another mail is on its way'),
    ]);
    await eventually(() => expect(smtp.to('bob@example.org')).toHaveLength(2));
    expect(textOf((await confirm(first)).text)).toContain('This link does not work any more');
  });

  it('gets no session from the handoff before it is confirmed', async () => {
    await signUp('cid@example.org').expect(200);
    const visitor = new Visitor(service.url);
    const page = await visitor.get('/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789');
    const values = { email: 'cid@example.org', password: PASSWORD };
    const answer = await visitor.submit(page, 'Sign in', values);
    expect([answer.status, textOf(answer.text)]).toEqual([403, expect.stringContaining('Check your mail')]);
    expect(
      await service.database.query(
        'SELECT FROM auth_sessions s JOIN users u ON u.id = s.user_id WHERE u.email = $1',
        ['cid@example.org'],
      ),
    ).toEqual([]);
  });

  it('has a link that expires after a day', async () => {
    await signUp('dan@example.org').expect(200);
    const token = await tokenFor('dan@example.org');
    await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
    service.clock.advance(DAY_MS);
    expect(textOf((await confirm(token)).text)).toContain('This link does not work any more');
    await post('send-verification-email', { email: 'dan@example.org' }).expect(200, { status: true });
  });
});

describe('the page that confirms an address', () => {
  it('asks for the password of the account, and confirms nothing without it', async () => {
    const { body } = await signUp('gil@example.org').expect(200);
    const token = await tokenFor('gil@example.org');
    const refused = await confirm(token, { password: `${PASSWORD}?` });
    expect([refused.status, textOf(refused.text)]).toEqual([
      422,
      expect.stringContaining('This is not the password of the account.'),
    ]);
    const none = await confirm(token, {});
    expect(none.status).toBe(422);
    const users = 'SELECT email_verified FROM users WHERE id = $1';
    expect(await service.database.query(users, [body.user.id])).toEqual([{ email_verified: false }]);
    expect((await confirm(token)).status).toBe(200); // the link was not used
  });

  it('lets the owner of the address start anew, which replaces the password of the sign-up', async () => {
    await signUp('hal@example.org').expect(200);
    const token = await tokenFor('hal@example.org');
    const common = await confirm(token, { new_password: 'password123' }, 'Start anew');
    expect([common.status, textOf(common.text)]).toEqual([422, expect.stringContaining('common')]);
    const done = await confirm(token, { new_password: `new ${PASSWORD}` }, 'Start anew');
    expect(done.status).toBe(200);
    await signIn('hal@example.org').expect(401);
    await post('sign-in/email', { email: 'hal@example.org', password: `new ${PASSWORD}` }).expect(200);
    expect((await confirm(token, { new_password: `newer ${PASSWORD}` }, 'Start anew')).status).toBe(422);
  });

  it('refuses to start anew once the address is confirmed', async () => {
    await signUp('ian@example.org').expect(200);
    const token = await tokenFor('ian@example.org');
    await service.database.query('UPDATE users SET email_verified = true WHERE email = $1', [
      'ian@example.org',
    ]);
    expect((await confirm(token, { new_password: `new ${PASSWORD}` }, 'Start anew')).status).toBe(422);
    await signIn('ian@example.org').expect(200);
  });
});

describe('a sign-up with the address of an account', () => {
  it('answers as one with a new address; the owner is notified by mail', async () => {
    await TestUser.logIn(service.url, 'eve');
    const image = 'https://example.org/face.png';
    const bodies = [];
    for (const email of ['eve@example.org', 'new@example.org']) {
      const { status, body, headers } = await post('sign-up/email', {
        email,
        name: '  Eve ',
        password: PASSWORD,
        image,
      });
      const { id, createdAt, updatedAt, ...rest } = body.user;
      for (const time of [createdAt, updatedAt])
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/);
      const { 'content-length': length, ...common } = headers;
      bodies.push([
        status,
        Object.keys(body.user),
        { ...rest, email: '' },
        body.token,
        Object.keys(common),
        length,
      ]);
    }
    const [taken, fresh] = bodies;
    expect(taken!.slice(0, 5)).toEqual(fresh!.slice(0, 5));
    const mail = await smtp.mailTo('eve@example.org');
    expect(mail.headers.subject).toBe('You have an account already');
    for (const field of [{ name: '' }, { image: 1 }])
      for (const email of ['eve@example.org', 'another@example.org'])
        await post('sign-up/email', { email, name: 'Eve', password: PASSWORD, ...field }).expect(400);
  });
});

describe('an account made by dev-login', () => {
  it('counts as confirmed, and gets no mail', async () => {
    await TestUser.logIn(service.url, 'fay');
    const users = await service.database.query('SELECT email_verified FROM users WHERE email = $1', [
      'fay@example.org',
    ]);
    expect(users).toEqual([{ email_verified: true }]);
    await post('send-verification-email', { email: 'fay@example.org' }).expect(200, { status: true });
    await service.app.get(Mail).sendDue();
    expect(smtp.to('fay@example.org')).toEqual([]);
  });
});
