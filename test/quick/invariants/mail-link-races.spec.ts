import supertest from 'supertest';
import { UnsubscribeLinks } from '../../../src/domain/accounts/notices/index.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { TestSmtp } from '../../kit/smtp.js';
import { formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const FOLLOWERS = 50;
const CONFIRMED = 'Your address is confirmed';
const USED = 'This link does not work any more';

let smtp: TestSmtp;
let first: TestService;
let second: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start({ isPlain: true });
  const env = { ...smtp.env, RATE_LIMIT_PER_MINUTE: '0' };
  first = await startService({ env });
  second = await startService({ env, beside: first });
});
afterAll(async () => {
  await second.close();
  await first.close();
  await smtp.goAway();
});

async function signUp(name: string): Promise<string> {
  const email = `${name}@example.org`;
  await supertest(first.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name, password: PASSWORD })
    .expect(200);
  return email;
}

/** The path of the link in the only mail to an address. */
async function linkTo(email: string): Promise<string> {
  const { text } = await smtp.mailTo(email);
  return /http:\/\/localhost:8787(\/\S+)\n/.exec(text)![1]!;
}

/**
 * Opens a link in fifty browsers, half of them at each instance, and posts their forms at once.
 * @returns the headings of the answers
 */
async function followed(link: string): Promise<string[]> {
  const forms = await Promise.all(
    Array.from({ length: FOLLOWERS }, async (_, at) => {
      const visitor = new Visitor((at % 2 ? first : second).url);
      const { location = '' } = (await visitor.get(link)).headers;
      const page = await visitor.get(location);
      return { visitor, page, label: formsOf(page)[0]!.label };
    }),
  );
  const post = async (form: (typeof forms)[number]): Promise<supertest.Response> => {
    const answer = await form.visitor.submit(form.page, form.label, { password: PASSWORD });
    return [429, 503].includes(answer.status) ? post(form) : answer; // too many at once: a person would retry
  };
  const answers = await Promise.all(forms.map(post));
  return answers.map(({ text }) => textOf(/<h1>.*?<\/h1>/s.exec(text)![0]));
}

const once = (heading: string): string[] => [heading, ...Array<string>(FOLLOWERS - 1).fill(USED)];

/** The account and its audit events. */
const accountAt = (email: string): Promise<object[]> =>
  first.database.query(
    `SELECT email_verified AS "isVerified",
            (SELECT array_agg(action ORDER BY id) FROM audit_events WHERE user_id = u.id
             AND action IN ('email.verified', 'email.changed')) AS actions
     FROM users u WHERE email = $1`,
    [email],
  );

describe('a link that is followed fifty times at once on two instances', () => {
  it('confirms a new account exactly once', async () => {
    const email = await signUp('ann');
    const headings = await followed(await linkTo(email));
    expect(headings.sort((a, b) => Number(a === USED) - Number(b === USED))).toEqual(once(CONFIRMED));
    expect(await accountAt(email)).toEqual([{ isVerified: true, actions: ['email.verified'] }]);
  });

  it('changes an address exactly once', async () => {
    const email = await signUp('bob');
    await first.database.query('UPDATE users SET email_verified = true WHERE email = $1', [email]);
    const visitor = new Visitor(second.url);
    await visitor.submit(await visitor.get('/account'), 'Sign in', { email, password: PASSWORD });
    const changed = 'bob@new.example.org';
    await visitor.submit(await visitor.get('/account'), 'Change address', { email: changed });
    const headings = await followed(await linkTo(changed));
    expect(headings.sort((a, b) => Number(a === USED) - Number(b === USED))).toEqual(once(CONFIRMED));
    expect(await accountAt(changed)).toEqual([{ isVerified: true, actions: ['email.changed'] }]);
    expect(await accountAt(email)).toEqual([]);
  });

  it('turns off a kind of mail once, and answers all requests alike', async () => {
    const cid = await first.newcomer('cid');
    const link = first.app.get(UnsubscribeLinks).linkFor({ userId: cid.id, notice: 'trial-ends' });
    const path = link.slice(BASE_URL.length);
    const answers = await Promise.all(
      Array.from({ length: FOLLOWERS }, (_, at) =>
        supertest((at % 2 ? first : second).url)
          .post(path)
          .send(),
      ),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(200);
    const muted = 'SELECT notice FROM muted_notices WHERE user_id = $1';
    expect(await first.database.query(muted, [cid.id])).toEqual([{ notice: 'trial-ends' }]);
  });
});
