import supertest from 'supertest';
import { Mail } from '../../../src/platform/mail/index.js';
import { BASE_URL, eventually, startService, type TestService, TestUser } from '../../kit/index.js';
import { TestSmtp } from '../../kit/smtp.js';
import { textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const NEW_PASSWORD = 'another battery staple';
const MINUTE_MS = 60_000;

let smtp: TestSmtp;
let service: TestService;
let other: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start();
  const env = { ...smtp.env, EMAIL_VERIFICATION: 'optional' };
  service = await startService({ env });
  other = await startService({ env, beside: service });
});
afterAll(async () => {
  await other.close();
  await service.close();
  await smtp.goAway();
});
beforeEach(() => void (smtp.received.length = 0));

function post(action: string, body: object, at = service): supertest.Test {
  return supertest(at.url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body);
}

interface Somebody {
  readonly email: string;
  readonly session: string;
}

/** Without batched notices, which are sent after ten minutes. */
const UNSENT = `SELECT FROM mail_queue WHERE parameters ->> 'count' IS NULL`;

async function signUp(name: string): Promise<Somebody> {
  const email = `${name}@example.org`;
  const { body } = await post('sign-up/email', { email, name, password: PASSWORD }).expect(200);
  await eventually(async () => expect(await service.database.query(UNSENT)).toEqual([]));
  return { email, session: body.token };
}

const signIn = (email: string, password: string): supertest.Test =>
  post('sign-in/email', { email, password });

/** The token in the newest mail of a subject to an address. */
async function tokenFor(email: string, subject = 'Choose a new password'): Promise<string> {
  return eventually(() => {
    const mail = smtp
      .to(email)
      .filter(({ headers }) => headers.subject === subject)
      .at(-1);
    return /[?&]token=([\w-]{43})\n/.exec(mail?.text ?? '')![1]!;
  });
}

async function requested({ email }: Somebody): Promise<string> {
  smtp.received.length = 0;
  await post('request-password-reset', { email }).expect(200);
  return tokenFor(email);
}

describe('a forgotten password', () => {
  it('is replaced through a link in a mail, and all sessions end', async () => {
    const ann = await signUp('ann');
    const visitor = new Visitor(service.url);
    const form = await visitor.get('/account/forgot');
    const sent = await visitor.submit(form, 'Forgotten password', { email: 'Ann@Example.org' });
    expect([sent.status, textOf(sent.text)]).toEqual([200, expect.stringContaining('Check your mail')]);

    const token = await tokenFor(ann.email);
    const mail = smtp.to(ann.email).at(-1)!;
    expect(mail.text).toMatch(
      /The link works once, until \d+ \w+ \d{4} at \d\d:\d\d UTC\. A newer link replaces it\./,
    );
    expect(mail.html).toContain(`${BASE_URL}/account/reset?token=${token}`);

    const opened = await visitor.get(`/account/reset?token=${token}`);
    expect([opened.status, opened.headers.location]).toEqual([303, '/account/reset']);
    expect(opened.headers['referrer-policy']).toBe('no-referrer');
    const page = await visitor.get('/account/reset');
    expect(textOf(page.text)).toContain('For the account ann@example.org');
    const short = await visitor.submit(page, 'Choose a new password', { new_password: 'short' });
    expect([short.status, textOf(short.text)]).toEqual([
      422,
      expect.stringContaining('at least 10 characters'),
    ]);
    const done = await visitor.submit(short, 'Choose a new password', { new_password: NEW_PASSWORD });
    expect([done.status, textOf(done.text)]).toEqual([
      200,
      expect.stringContaining('Your password is changed'),
    ]);

    await signIn(ann.email, PASSWORD).expect(401);
    await signIn(ann.email, NEW_PASSWORD).expect(200);
    const { body } = await supertest(service.url)
      .get('/api/auth/get-session')
      .set('Authorization', `Bearer ${ann.session}`);
    expect(body).toBeNull();
    expect(textOf((await visitor.get('/account/reset')).text)).toContain('This link does not work any more');
  });

  it('is replaced without revoking access tokens, unless requested', async () => {
    const { email } = await signUp('bob');
    const bob = await TestUser.logIn(service.url, 'bob');
    const { body: kept } = await bob.post('/api/v1/auth/tokens').send({ name: 'one' }).expect(201);
    const asToken = (): supertest.Test => bob.at(service.url, kept.token).get('/api/v1/workspaces');
    // The first proof of an address revokes what others may have created before it.
    await service.database.query('UPDATE users SET email_verified = true WHERE email = $1', [email]);
    const token = await requested({ email, session: '' });
    await post('reset-password', { token, newPassword: NEW_PASSWORD }).expect(200, { status: true });
    await asToken().expect(200);
    const second = await requested({ email, session: '' });
    await post('reset-password', { token: second, newPassword: PASSWORD, revokeAccessTokens: true }).expect(
      200,
    );
    await asToken().expect(401);
  });

  it('gets the same response for an address without an account, to which nothing is sent', async () => {
    const cid = await signUp('cid');
    const answers = await Promise.all(
      [cid.email, 'nobody@example.org'].map((email) => post('request-password-reset', { email })),
    );
    expect(answers[0]!.status).toBe(200);
    expect(answers[1]!.text).toBe(answers[0]!.text);
    const pages = [];
    for (const email of [cid.email, 'nobody@example.org']) {
      const visitor = new Visitor(service.url);
      pages.push(await visitor.submit(await visitor.get('/account/forgot'), 'Forgotten password', { email }));
    }
    expect(pages[1]!.text).toBe(pages[0]!.text);
    await tokenFor(cid.email);
    await service.app.get(Mail).sendDue();
    expect(smtp.to('nobody@example.org')).toEqual([]);
  });

  it('is requested without waiting for the mail server', async () => {
    const dan = await signUp('dan');
    await smtp.goAway();
    await post('request-password-reset', { email: dan.email }).expect(200);
    await smtp.comeBack();
    service.clock.advance(MINUTE_MS);
    await tokenFor(dan.email);
  });
});

describe('the recovery link', () => {
  it('works once, even when used fifty times at once on two instances', async () => {
    const eve = await signUp('eve');
    const token = await requested(eve);
    const passwords = Array.from({ length: 50 }, (_, i) => `${NEW_PASSWORD} ${i}`);
    const answers = await Promise.all(
      passwords.map((newPassword, i) =>
        post('reset-password', { token, newPassword }, i % 2 ? service : other),
      ),
    );
    const worked = passwords.filter((_, i) => answers[i]!.status === 200);
    expect(worked).toHaveLength(1);
    const refused = answers.filter(({ status }) => ![200, 503].includes(status));
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
      new Set(['400 INVALID_TOKEN']),
    );
    await signIn(eve.email, worked[0]!).expect(200);
  });

  it('stops working after thirty minutes', async () => {
    const fay = await signUp('fay');
    const token = await requested(fay);
    service.clock.advance(30 * MINUTE_MS);
    const { body } = await post('reset-password', { token, newPassword: NEW_PASSWORD }).expect(400);
    expect(body.code).toBe('INVALID_TOKEN');
  });

  it.each([
    ['a newer link is requested', (who: Somebody): Promise<unknown> => requested(who)],
    [
      'the password is changed',
      async ({ session }: Somebody) => {
        const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
        await post('change-password', body).set('Authorization', `Bearer ${session}`).expect(200);
      },
    ],
  ])('stops working when %s', async (why, happens) => {
    const who = await signUp(`stops-${why.length}`);
    const token = await requested(who);
    await happens(who);
    await post('reset-password', { token, newPassword: `${NEW_PASSWORD}!` }).expect(400);
  });

  it('is neither sent nor valid again after its use', async () => {
    const gil = await signUp('gil');
    smtp.received.length = 0;
    smtp.faults.losesAnswer = true;
    await post('request-password-reset', { email: gil.email }).expect(200);
    const token = await tokenFor(gil.email);
    await post('reset-password', { token, newPassword: NEW_PASSWORD }).expect(200);
    smtp.faults.losesAnswer = false;
    await eventually(async () => {
      service.clock.advance(MINUTE_MS);
      expect(await service.database.query(UNSENT)).toEqual([]);
    });
    const links = smtp.to(gil.email).filter(({ headers }) => headers.subject === 'Choose a new password');
    expect(links).toHaveLength(1);
    await post('reset-password', { token, newPassword: PASSWORD }).expect(400);
  });

  it('is the same in each delivery attempt', async () => {
    const hal = await signUp('hal');
    smtp.received.length = 0;
    smtp.faults.losesAnswer = true;
    await post('request-password-reset', { email: hal.email }).expect(200);
    const token = await tokenFor(hal.email);
    smtp.faults.losesAnswer = false;
    await eventually(() => {
      service.clock.advance(MINUTE_MS);
      expect(smtp.to(hal.email)).toHaveLength(2);
    });
    expect(await tokenFor(hal.email)).toBe(token);
    await post('reset-password', { token, newPassword: NEW_PASSWORD }).expect(200);
  });

  it('is neither in the database nor in a log', async () => {
    const ida = await signUp('ida');
    await smtp.goAway();
    await post('request-password-reset', { email: ida.email }).expect(200);
    const queued = JSON.stringify(await service.database.query('SELECT * FROM mail_queue'));
    await smtp.comeBack();
    service.clock.advance(MINUTE_MS);
    const token = await tokenFor(ida.email);
    await new Visitor(service.url).get(`/account/reset?token=${token}`);
    const links = JSON.stringify(await service.database.query('SELECT * FROM mail_links'));
    for (const text of [queued, links, service.logged(), other.logged()]) expect(text).not.toContain(token);
  });

  it('does not work once the account is suspended', async () => {
    const jan = await signUp('jan');
    const token = await requested(jan);
    await service.database.query('UPDATE users SET suspended_at = now() WHERE email = $1', [jan.email]);
    await post('reset-password', { token, newPassword: NEW_PASSWORD }).expect(400);
  });
});

describe('a service without a mail server', () => {
  it('has no routes, pages or links for password recovery', async () => {
    const bare = await startService();
    await post('request-password-reset', { email: 'ann@example.org' }, bare).expect(404);
    await post('reset-password', { token: 'x', newPassword: NEW_PASSWORD }, bare).expect(404);
    await supertest(bare.url).get('/account/forgot').expect(404);
    await supertest(bare.url).get('/account/reset?token=x').expect(404);
    const { text } = await supertest(bare.url).get('/account').expect(200);
    expect(text).not.toContain('/account/forgot');
    await bare.close();
  });
});

describe('requests for recovery links', () => {
  it('are limited to five an hour for an address, whether or not it has an account', async () => {
    const limited = await startService({ env: { ...smtp.env, RATE_LIMIT_PER_MINUTE: '1200' } });
    const { email } = await TestUser.logIn(limited.url, 'kim');
    for (const address of [email, 'nobody@example.org']) {
      limited.clock.advance(MINUTE_MS);
      for (let i = 0; i < 5; i++)
        await post('request-password-reset', { email: address }, limited).expect(200);
      await post('request-password-reset', { email: address }, limited).expect(429);
    }
    await limited.close();
  });
});
