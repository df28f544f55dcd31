import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { Mail } from '../../../src/platform/mail/index.js';
import { TEMPLATES } from '../../../src/platform/mail/templates.js';
import { BillingNotices } from '../../../src/domain/accounts/notices/notices.js';
import { ALL_MUTABLE, MutedNotices, UnsubscribeLinks } from '../../../src/domain/accounts/notices/index.js';
import { BASE_URL, eventually, startService, type TestService, type TestUser } from '../../kit/index.js';
import { TestSmtp, type ReceivedMail } from '../../kit/smtp.js';
import { formsOf, textOf, Visitor } from '../../kit/visitor.js';
import { itDeep } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';
const DAY_MS = 24 * 60 * 60_000;
const TRIAL = 'Your trial ends soon';
const PAYMENT = 'A payment failed';

let smtp: TestSmtp;
let service: TestService;
let other: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start({ isPlain: true });
  const env = { ...smtp.env, EMAIL_VERIFICATION: 'optional' };
  service = await startService({ env });
  other = await startService({ env, beside: service });
});
afterAll(async () => {
  await other.close();
  await service.close();
  await smtp.goAway();
});

/** Both notices become due for a user. */
async function makeDue({ id }: TestUser): Promise<void> {
  const now = service.clock.now();
  const ends = new Date(now.getTime() + 3 * DAY_MS - 1000);
  await service.database.query('DELETE FROM mail_notices WHERE user_id = $1', [id]);
  await service.database.query(
    `UPDATE subscriptions SET status = 'trial', trial_end = $2, past_due_since = $3 WHERE user_id = $1`,
    [id, ends, now],
  );
  await service.app.get(BillingNotices).queue(now);
  await service.database.query(`UPDATE subscriptions SET status = 'past_due' WHERE user_id = $1`, [id]);
  await service.app.get(BillingNotices).queue(now);
}

/** The notices that a user gets when all are due. */
async function notices(user: TestUser): Promise<ReceivedMail[]> {
  await allSent(); // mails of earlier tests
  smtp.received.length = 0;
  await makeDue(user);
  await allSent();
  return [...smtp.to(user.email)].sort((a, b) => (a.headers.subject! < b.headers.subject! ? 1 : -1));
}

async function allSent(): Promise<void> {
  await service.app.get(Mail).sendDue();
  await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
}

const subjects = (mails: readonly ReceivedMail[]): string[] => mails.map(({ headers }) => headers.subject!);

function linkOf({ headers }: ReceivedMail): string {
  const [, origin, path] = /^<(http:\/\/localhost:8787)(\S+)>$/.exec(headers['list-unsubscribe']!)!;
  expect(origin).toBe(BASE_URL);
  return path!;
}

const tokenOf = (path: string): string => new URL(path, BASE_URL).searchParams.get('token')!;

describe('a mail that is not a security notice', () => {
  it('has a link that turns mails of its kind off, in text, HTML and header', async () => {
    const mails = await notices(await service.user('ann'));
    expect(subjects(mails)).toEqual([TRIAL, PAYMENT]);
    for (const mail of mails) {
      const link = BASE_URL + linkOf(mail);
      expect(mail.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
      expect(mail.text).toContain(`Turn off mails of this kind:\n${link}\n`);
      expect(mail.html).toContain(`<a href="${link}"`);
    }
  });

  itDeep(
    'is turned off by one POST of the mail provider, whatever its body, for its kind alone',
    async () => {
      const bodies: ((request: supertest.Test) => supertest.Test)[] = [
        (request) => request.type('form').send('List-Unsubscribe=One-Click'),
        (request) => request.field('List-Unsubscribe', 'One-Click'),
        (request) => request,
        (request) => request.set('Content-Type', 'application/json').send('{"some": "thing"'),
        (request) => request.set('Origin', 'https://mail.example').send('x'),
      ];
      for (const [at, withBody] of bodies.entries()) {
        const user = await service.user(`provider-${at}`);
        const [mail] = await notices(user);
        for (const { url } of [service, other]) {
          const answer = await withBody(supertest(url).post(linkOf(mail!)));
          expect([answer.status, textOf(answer.text)]).toEqual([
            200,
            expect.stringContaining('These mails are off'),
          ]);
          expect(answer.headers['set-cookie']).toBeUndefined();
        }
        expect(subjects(await notices(user))).toEqual([PAYMENT]);
      }
    },
  );

  it('is turned off by the form of the page, not by opening it; the page names no account', async () => {
    const user = await service.user('eve-of-the-page');
    const mails = await notices(user);
    const visitor = new Visitor(other.url);
    const page = await visitor.get(linkOf(mails[1]!));
    expect(page.status).toBe(200);
    expect(textOf(page.text)).toContain('No more mails about a payment that failed?');
    expect(page.text).not.toContain('eve-of-the-page');
    expect(page.headers['referrer-policy']).toBe('no-referrer');
    expect(visitor.cookieNames).toEqual([]);
    expect(subjects(await notices(user))).toEqual([TRIAL, PAYMENT]);
    const done = await visitor.submit(page, 'Turn off');
    expect(done.status).toBe(200);
    expect(textOf(done.text)).toContain('No more mails about a payment that failed are sent');
    expect(done.text).not.toContain('eve-of-the-page');
    expect(subjects(await notices(user))).toEqual([TRIAL]);
  });

  it('is not sent when its kind is turned off while it is queued', async () => {
    const user = await service.user('fay');
    await smtp.goAway();
    await makeDue(user);
    await service.app.get(MutedNotices).mute(user.id, 'trial-ends');
    // An attempt under way would succeed after the return, and the moved clock ends its lease.
    for (const { app } of [service, other]) await app.get(Mail).sendDue();
    smtp.received.length = 0;
    await smtp.comeBack();
    service.clock.advance(10 * 60_000);
    await service.app.get(Mail).sendDue();
    await eventually(() => expect(subjects(smtp.to(user.email))).toEqual([PAYMENT]));
    expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]);
  });
});

describe('the unsubscribe link', () => {
  const linkFor = (userId: string): string =>
    service.app.get(UnsubscribeLinks).linkFor({ userId, notice: 'trial-ends' }).slice(BASE_URL.length);

  it('works for its own account and kind alone', async () => {
    const [gil, hal] = [await service.user('gil'), await service.user('hal')];
    const [notice, userId, signature] = tokenOf(linkFor(gil.id)).split('.');
    const forged = [
      `${notice}.${hal.id}.${signature}`,
      `payment-failed.${userId}.${signature}`,
      `new-sign-in.${userId}.${signature}`,
      `${notice}.${userId}.${signature}x`,
      `${notice}.${userId}`,
      `${notice}.${userId}.`,
      `${notice}.${String(userId).toUpperCase()}.${signature}`,
      '',
    ];
    for (const token of forged) {
      const path = `/account/unsubscribe?token=${token}`;
      for (const answer of [
        await supertest(service.url).get(path),
        await supertest(service.url).post(path).send(),
      ])
        expect([answer.status, textOf(answer.text)]).toEqual([
          422,
          expect.stringContaining('This link does not work'),
        ]);
    }
    expect(
      await service.database.query('SELECT FROM muted_notices WHERE user_id IN ($1, $2)', [gil.id, hal.id]),
    ).toEqual([]);
  });

  it('gives no session, and does not work on other pages', async () => {
    const ida = await service.user('ida');
    const visitor = new Visitor(service.url);
    const token = tokenOf(linkFor(ida.id));
    await visitor.post(`/account/unsubscribe?token=${token}`, []);
    expect(textOf((await visitor.get('/account')).text)).toContain('Sign in to your account');
    for (const path of ['/account/reset', '/account/verify', '/account/new-address']) {
      await visitor.get(`${path}?token=${token}`);
      expect((await visitor.get(path)).status).toBe(422);
    }
    expect((await visitor.get(`/account/invitation?token=${token}`)).status).toBe(404);
  });

  it('answers the same for an account that does not exist', async () => {
    const answers = [];
    for (const id of [(await service.user('jan')).id, randomUUID()]) {
      const { status, text, headers } = await supertest(service.url).post(linkFor(id)).send();
      answers.push([status, text, { ...headers, date: '', 'x-request-id': '' }]);
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[0]![0]).toBe(200);
  });

  it('is in no log and no table, and leaves no row when the account is deleted', async () => {
    const kim = await service.user('kim');
    const signature = tokenOf(linkFor(kim.id)).split('.')[2]!;
    await supertest(service.url).get(linkFor(kim.id)).expect(200);
    await supertest(service.url).post(linkFor(kim.id)).send().expect(200);
    expect(service.logged()).toContain('/account/unsubscribe?token=[redacted]');
    const rows = await service.database.query<{ notice: string; muted_at: Date }>(
      'SELECT * FROM muted_notices',
    );
    expect(rows).toContainEqual({ user_id: kim.id, notice: 'trial-ends', muted_at: expect.any(Date) });
    for (const text of [service.logged(), JSON.stringify(rows)]) expect(text).not.toContain(signature);
    await service.database.query('DELETE FROM users WHERE id = $1', [kim.id]);
    const left = 'SELECT FROM muted_notices WHERE user_id = $1';
    expect(await service.database.query(left, [kim.id])).toEqual([]);
  });
});

describe('the account page', () => {
  /** A browser that is signed in to a new account. */
  async function person(name: string): Promise<{ visitor: Visitor; user: TestUser }> {
    const email = `${name}@example.org`;
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', BASE_URL)
      .send({ email, name, password: PASSWORD })
      .expect(200);
    const visitor = new Visitor(service.url);
    await visitor.submit(await visitor.get('/account'), 'Sign in', { email, password: PASSWORD });
    return { visitor, user: await service.user(name) };
  }

  const ticked = (text: string): string[] =>
    [...text.matchAll(/<input\b[^>]*name="notices"[^>]*>/g)].flatMap(([tag]) =>
      /\bchecked\b/.test(tag) ? [/value="([^"]*)"/.exec(tag)![1]!] : [],
    );

  it('turns each kind off and on again', async () => {
    const { visitor, user } = await person('lea');
    const page = await visitor.get('/account');
    expect(ticked(page.text)).toEqual(ALL_MUTABLE);
    const [{ action, values } = { action: '', values: {} }] = formsOf(page).filter(
      ({ label }) => label === 'Mail notices',
    );
    const csrf = ['csrf_token', (values as Record<string, string>)['csrf_token']!] as const;
    const done = await visitor.post(action, [csrf, ['notices', 'payment-failed']]);
    expect([done.status, done.headers.location]).toEqual([303, '/account?done=notices']);
    const after = await visitor.get('/account?done=notices');
    expect(textOf(after.text)).toContain('Your choice of mails has been saved.');
    expect(ticked(after.text)).toEqual(['payment-failed']);
    expect(subjects(await notices(user))).toEqual([PAYMENT]);
    await visitor.post(action, [csrf, ['notices', 'trial-ends'], ['notices', 'new-sign-in']]);
    expect(subjects(await notices(user))).toEqual([TRIAL]);
    await visitor.post(action, [csrf, ['notices', 'trial-ends'], ['notices', 'payment-failed']]);
    expect(subjects(await notices(user))).toEqual([TRIAL, PAYMENT]);
  });

  it('shows which kind a link has turned off, and refuses a form with a wrong token', async () => {
    const { visitor, user } = await person('max');
    const [mail] = await notices(user);
    await supertest(other.url).post(linkOf(mail!)).send().expect(200);
    expect(ticked((await visitor.get('/account')).text)).toEqual(['payment-failed']);
    const foreign = await visitor.post('/account/notices', [['csrf_token', 'x']]);
    expect(foreign.status).toBe(403);
    expect(ticked((await visitor.get('/account')).text)).toEqual(['payment-failed']);
  });

  it('answers 404 at /account/unsubscribe without a mail server', async () => {
    const bare = await startService();
    await supertest(bare.url).post('/account/unsubscribe?token=x').send().expect(404);
    await supertest(bare.url).get('/account/unsubscribe?token=x').expect(404);
    await bare.close();
  });
});

describe('security notices and mails that a user has requested', () => {
  it('cannot be turned off', async () => {
    const always = Object.keys(TEMPLATES).filter((name) => !ALL_MUTABLE.some((notice) => notice === name));
    expect(always.sort()).toEqual(
      [
        ...['test', 'invitation', 'reset-password', 'verify-email', 'change-email', 'address-taken'],
        ...['email-changed', 'password-changed', 'factor-changed', 'new-sign-in', 'full-token'],
        ...['single-sign-on-linked', 'single-sign-on-unlinked'],
      ].sort(),
    );
    const ned = await service.newcomer('ned');
    await service.database.query(
      `INSERT INTO muted_notices SELECT $1, name, now() FROM unnest($2::text[]) name`,
      [ned.id, always],
    );
    smtp.received.length = 0;
    await ned.post('/api/v1/auth/tokens').send({ name: 'all' }).expect(201);
    const mail = await smtp.mailTo(ned.email);
    expect(mail.headers.subject).toContain('An access token that may do everything');
    expect(mail.headers['list-unsubscribe']).toBeUndefined();
    expect(mail.text).not.toContain('unsubscribe');
  });
});
