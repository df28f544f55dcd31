import supertest from 'supertest';
import { type AuditAction, AuditLog } from '../../../src/domain/auth/audit/index.js';
import { BASE_URL, eventually, startService, type TestService, TestUser } from '../../kit/index.js';
import { Mail } from '../../../src/platform/mail/index.js';
import { NightlyJobs } from '../../../src/platform/jobs/index.js';
import { TestSmtp } from '../../kit/smtp.js';
import { formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const DAY_MS = 24 * 60 * 60_000;

let smtp: TestSmtp;
let service: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start();
  const env = { ...smtp.env, EMAIL_VERIFICATION: 'optional', TRUST_PROXY: 'true' };
  service = await startService({ env });
});
afterAll(async () => {
  await service.close();
  await smtp.goAway();
});

function post(action: string, body: object, ip = '198.51.100.1'): supertest.Test {
  return supertest(service.url)
    .post(`/api/auth/${action}`)
    .set({ Origin: BASE_URL, 'X-Forwarded-For': ip })
    .send(body);
}

async function signUp(name: string): Promise<{ email: string; session: string }> {
  const email = `${name}@example.org`;
  const { body } = await post('sign-up/email', { email, name, password: PASSWORD }).expect(200);
  return { email, session: body.token };
}

const subjectsTo = (email: string): string[] => smtp.to(email).map(({ headers }) => headers.subject!);

/** The mail with this subject to an address, once it has arrived. */
function mailTo(email: string, subject: string) {
  return eventually(() => {
    expect(subjectsTo(email)).toContain(subject);
    return smtp.to(email).find(({ headers }) => headers.subject === subject)!;
  });
}

const addressOf = async (id: string): Promise<string> =>
  (await service.database.query<{ email: string }>('SELECT email FROM users WHERE id = $1', [id]))[0]!.email;

describe('the owner of an account is notified by mail', () => {
  it('of a changed password, with the time and the network address', async () => {
    const { email, session } = await signUp('ann');
    const body = { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` };
    await post('change-password', body).set('Authorization', `Bearer ${session}`).expect(200);
    const { text } = await mailTo(email, 'The password of your account at localhost:8787 was changed');
    expect(text).toMatch(/Time: \d+ \w+ \d{4} at \d\d:\d\d UTC\nFrom the network address: 198\.51\.100\.1\n/);
  });

  it('of a sign-in from a new network, but not from a known one', async () => {
    const { email } = await signUp('bob');
    await post('sign-in/email', { email, password: PASSWORD }).expect(200);
    await post('sign-in/email', { email, password: PASSWORD }, '203.0.113.9').expect(200);
    const { text } = await mailTo(email, 'New sign-in to your account at localhost:8787');
    expect(text).toContain('From the network address: 203.0.113.9');
    await post('sign-in/email', { email, password: PASSWORD }, '203.0.113.9').expect(200);
    const events = `SELECT FROM audit_events WHERE action = 'sign-in.new-client'`;
    expect(await service.database.query(events)).toHaveLength(1);
  });

  it('of a new access token with the scope full, but not with fewer scopes', async () => {
    const cid = await TestUser.logIn(service.url, 'cid');
    await cid
      .post('/api/v1/auth/tokens')
      .send({ name: 'reads', scopes: ['documents:read'] })
      .expect(201);
    await cid.post('/api/v1/auth/tokens').send({ name: 'all' }).expect(201);
    const subject = 'An access token that may do everything was made for your account at localhost:8787';
    await mailTo(cid.email, subject);
    expect(subjectsTo(cid.email)).toEqual([subject]);
  });

  it.each([
    ['single-sign-on.linked', 'can now be used'],
    ['single-sign-on.unlinked', 'can no longer be used'],
  ])('of %s, but not when it created the account', async (name, change) => {
    const { id, email } = await TestUser.logIn(service.url, `sso-${change.length}`);
    const action = name as AuditAction;
    await service.app.get(AuditLog).record({ action, userId: id, actor: 'user', ip: '203.0.113.7' });
    await service.app
      .get(AuditLog)
      .record({ action, userId: id, actor: 'user', details: { isNewAccount: true } });
    const subject = `Your account at localhost:8787 ${change} through another provider's sign-in`;
    const { text } = await mailTo(email, subject);
    expect(text).toContain('From the network address: 203.0.113.7');
    await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
    expect(subjectsTo(email)).toEqual([subject]);
  });

  describe('of repeated events', () => {
    afterEach(() => service.database.query('DELETE FROM mail_queue')); // collected events are due later
    const SUBJECT = 'An access token that may do everything was made for your account at localhost:8787';
    const minted = ({ id: userId }: TestUser): Promise<void> => {
      const details = { name: 'all', scopes: 'full' };
      return service.app
        .get(AuditLog)
        .record({ action: 'token.minted', userId, actor: 'user', ip: '203.0.113.7', details });
    };
    const waiting = (email: string): Promise<unknown[]> =>
      service.database.query('SELECT FROM mail_queue WHERE recipient = $1', [email]);

    it('at once, and then once for all events of the next ten minutes', async () => {
      const gil = await TestUser.logIn(service.url, 'gathers');
      service.clock.stopAt(new Date());
      try {
        await minted(gil);
        await mailTo(gil.email, SUBJECT);
        await Promise.all(Array.from({ length: 18 }, () => minted(gil)));
        service.clock.advance(9 * 60_000);
        await minted(gil);
        await service.app.get(Mail).sendDue();
        expect(subjectsTo(gil.email)).toEqual([SUBJECT]);
        expect(await waiting(gil.email)).toHaveLength(1);

        service.clock.advance(60_000);
        await service.app.get(Mail).sendDue();
        const gathered = `${SUBJECT} (19 times)`;
        const { text } = await mailTo(gil.email, gathered);
        expect(subjectsTo(gil.email)).toEqual([SUBJECT, gathered]);
        expect(text.match(/^\d+: \d+ \w+ \d{4} at \d\d:\d\d UTC, from [\d.:a-f]+$/gm)).toHaveLength(19);

        await minted(gil); // within ten minutes of the last mail
        await service.app.get(Mail).sendDue();
        expect(subjectsTo(gil.email)).toHaveLength(2);
        service.clock.advance(10 * 60_000);
        await service.app.get(Mail).sendDue();
        expect(subjectsTo(gil.email)).toEqual([SUBJECT, gathered, SUBJECT]);

        service.clock.advance(11 * 60_000);
        await minted(gil);
        await service.app.get(Mail).sendDue();
        expect(subjectsTo(gil.email)).toHaveLength(4);
      } finally {
        service.clock.advance(-31 * 60_000);
        service.clock.resume();
      }
    });

    it('without delaying mails of another kind or account', async () => {
      const [hal, ida] = [
        await TestUser.logIn(service.url, 'gathers-two'),
        await TestUser.logIn(service.url, 'gathers-none'),
      ];
      await minted(hal);
      await minted(hal);
      await minted(ida);
      const audit = service.app.get(AuditLog);
      await audit.record({ action: 'password.changed', userId: hal.id, actor: 'user', ip: '203.0.113.7' });
      await mailTo(ida.email, SUBJECT);
      await mailTo(hal.email, 'The password of your account at localhost:8787 was changed');
      expect(subjectsTo(hal.email)).toHaveLength(2);
    });

    it('with their number, and a list of the first fifty', async () => {
      const jon = await TestUser.logIn(service.url, 'gathers-many');
      const audit = service.app.get(AuditLog);
      for (let n = 0; n < 54; n++)
        await audit.record({ action: 'password.changed', userId: jon.id, actor: 'operator' });
      await service.database.query(`UPDATE mail_queue SET due_at = now() WHERE recipient = $1`, [jon.email]);
      const subject = 'The password of your account at localhost:8787 was changed (53 times)';
      const { text } = await mailTo(jon.email, subject);
      expect(text).toContain('50: ');
      expect(text).toContain('More: 3, which');
    });
  });

  it('of a trial that ends in three days and of a payment that failed, once', async () => {
    const dan = await service.user('dan');
    const eve = await service.user('eve');
    const now = service.clock.now();
    await service.database.query('UPDATE subscriptions SET trial_end = $2 WHERE user_id = $1', [
      dan.id,
      new Date(now.getTime() + 3 * DAY_MS - 1000),
    ]);
    await service.database.query(
      `UPDATE subscriptions SET status = 'past_due', past_due_since = $2 WHERE user_id = $1`,
      [eve.id, now],
    );
    const jobs = service.app.get(NightlyJobs);
    await Promise.all([jobs.run(), jobs.run()]);
    await mailTo(dan.email, 'Your trial ends soon');
    await mailTo(eve.email, 'A payment failed');
    await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
    expect([subjectsTo(dan.email).length, subjectsTo(eve.email).length]).toEqual([1, 1]);
  });
});

describe('a change of the email address', () => {
  async function asked(name: string, newEmail: string) {
    const { email } = await signUp(name);
    const visitor = new Visitor(service.url);
    const signedIn = { email, password: PASSWORD };
    await visitor.submit(await visitor.get('/account'), 'Sign in', signedIn);
    const answer = await visitor.submit(await visitor.get('/account'), 'Change address', { email: newEmail });
    return { email, visitor, answer };
  }

  async function followed(newEmail: string): Promise<string> {
    const { text } = await mailTo(newEmail, 'Confirm your new email address');
    const visitor = new Visitor(service.url);
    await visitor.get(`/account/new-address?token=${/token=([\w-]{43})\n/.exec(text)![1]!}`);
    const page = await visitor.get('/account/new-address');
    const [form] = formsOf(page);
    return textOf((form ? await visitor.submit(page, form.label, { password: PASSWORD }) : page).text);
  }

  it('is confirmed by a link to the new address, and reported to the old one', async () => {
    const { email, answer } = await asked('fay', 'fay@new.example.org');
    expect([answer.status, answer.headers.location]).toEqual([303, '/account?done=email']);
    const [user] = await service.database.query<{ id: string }>('SELECT id FROM users WHERE email = $1', [
      email,
    ]);
    await mailTo('fay@new.example.org', 'Confirm your new email address');
    expect(await addressOf(user!.id)).toBe(email);
    expect(await followed('fay@new.example.org')).toContain('Your address is confirmed');
    expect(await addressOf(user!.id)).toBe('fay@new.example.org');
    await mailTo(email, 'Your email address was changed');
    const events = `SELECT actor FROM audit_events WHERE action = 'email.changed' AND user_id = $1`;
    expect(await service.database.query(events, [user!.id])).toEqual([{ actor: 'user' }]);
    expect(await followed('fay@new.example.org')).toContain('This link does not work any more');
  });

  it('to a taken address gets the same answer, and the owner of that address is notified', async () => {
    const { email: taken } = await signUp('gil');
    const { answer } = await asked('hal', taken);
    expect([answer.status, answer.headers.location]).toEqual([303, '/account?done=email']);
    await mailTo(taken, 'You have an account already');
  });

  it('needs the password unless it was given recently', async () => {
    const { visitor } = await asked('ida', 'ida@new.example.org');
    service.clock.advance(11 * 60_000);
    const page = await visitor.get('/account');
    const refused = await visitor.submit(page, 'Change address', { email: 'ida@other.example.org' });
    expect([refused.status, textOf(refused.text)]).toEqual([
      422,
      expect.stringContaining('Enter your password.'),
    ]);
    const wished = { email: 'ida@other.example.org', confirm_password: PASSWORD };
    expect((await visitor.submit(refused, 'Change address', wished)).status).toBe(303);
  });
});
