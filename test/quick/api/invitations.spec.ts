import supertest from 'supertest';
import { Invitations } from '../../../src/domain/accounts/index.js';
import { AuditLog } from '../../../src/domain/auth/audit/index.js';
import { administratorAt, PASSWORD, personAt } from '../../kit/administrators.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { elementOf, textOf, Visitor } from '../../kit/visitor.js';

const WEEK_MS = 7 * 24 * 60 * 60_000;
const MAKE = 'Make your account';

let first: TestService;
let second: TestService;
beforeAll(async () => {
  first = await startService({ env: { SIGNUP_ENABLED: 'false' } });
  second = await startService({ beside: first, env: { SIGNUP_ENABLED: 'false' } });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

async function invite(email: string): Promise<string> {
  const { link } = await first.app.get(Invitations).invite(email, { actor: 'operator' });
  const { pathname, search, origin } = new URL(link);
  expect(origin).toBe(BASE_URL);
  return pathname + search;
}

const accept = async (browser: Visitor, link: string, fields = {}): Promise<supertest.Response> =>
  browser.submit(await browser.get(link), MAKE, { name: 'Ida', password: PASSWORD, ...fields });

const usersOf = (email: string): Promise<object[]> =>
  first.database.query('SELECT name, email_verified FROM users WHERE email = $1', [email]);

describe('an invitation', () => {
  it('creates an account with a verified address, and signs the browser in', async () => {
    const browser = new Visitor(second.url);
    const link = await invite('Ida@Example.org');
    const form = await browser.get(link);
    expect(elementOf(form, 'email').value).toBe('ida@example.org');
    const done = await browser.submit(form, MAKE, { name: ' Ida ', password: PASSWORD });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect(textOf((await browser.get('/account')).text)).toContain('ida@example.org');
    expect(await usersOf('ida@example.org')).toEqual([{ name: 'Ida', email_verified: true }]);
    const [{ id } = { id: '' }] = await first.database.query<{ id: string }>(
      `SELECT id FROM users WHERE email = 'ida@example.org'`,
    );
    expect(await first.app.get(AuditLog).ofUser(id, 5)).toEqual([
      expect.objectContaining({ action: 'account.joined', actor: 'user', ip: '127.0.0.1' }),
    ]);
  });

  it('works once', async () => {
    const link = await invite('once@example.org');
    await accept(new Visitor(first.url), link);
    const again = await new Visitor(second.url).get(link);
    expect(again.status).toBe(404);
    expect(textOf(again.text)).toContain('This invitation does not work');
  });

  it('creates one account when it is used fifty times at once on two instances', async () => {
    const link = await invite('fifty@example.org');
    const forms = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const browser = new Visitor((at % 2 ? first : second).url);
        return { browser, form: await browser.get(link) };
      }),
    );
    // Each network has few slots for hashing passwords, so that some are refused there and try again.
    const attempt = async ({ browser, form }: (typeof forms)[number]): Promise<number> => {
      for (;;) {
        const { status, text } = await browser.submit(form, MAKE, { name: 'Fifty', password: PASSWORD });
        if (status !== 422 || !text.includes('Too many people')) return status;
      }
    };
    const statuses = await Promise.all(forms.map(attempt));
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect(statuses.filter((status) => status === 404)).toHaveLength(49);
    expect(await usersOf('fifty@example.org')).toHaveLength(1);
  });

  it('expires after seven days', async () => {
    const link = await invite('late@example.org');
    const browser = new Visitor(first.url);
    const form = await browser.get(link);
    first.clock.advance(WEEK_MS - 1000);
    expect((await browser.get(link)).status).toBe(200);
    first.clock.advance(1000);
    try {
      expect((await browser.get(link)).status).toBe(404);
      const late = await browser.submit(form, MAKE, { name: 'Late', password: PASSWORD });
      expect(late.status).toBe(404);
      expect(await first.app.get(Invitations).open(10)).toEqual([]);
    } finally {
      first.clock.advance(-WEEK_MS);
    }
    expect(await usersOf('late@example.org')).toEqual([]);
  });

  it('ends when a newer one is created for its address, and when it is revoked', async () => {
    const older = await invite('again@example.org');
    const newer = await invite('AGAIN@example.org');
    const browser = new Visitor(second.url);
    expect((await browser.get(older)).status).toBe(404);
    expect((await browser.get(newer)).status).toBe(200);
    await first.app.get(Invitations).revoke('again@example.org', { actor: 'operator' });
    expect((await browser.get(newer)).status).toBe(404);
    await expect(
      first.app.get(Invitations).revoke('again@example.org', { actor: 'operator' }),
    ).rejects.toThrow('there is no open invitation of again@example.org');
  });

  it('creates an account for its own address alone', async () => {
    const link = await invite('mine@example.org');
    await accept(new Visitor(first.url), link, { email: 'other@example.org' });
    expect(await usersOf('other@example.org')).toEqual([]);
    expect(await usersOf('mine@example.org')).toHaveLength(1);
  });

  it('stays valid when its form is refused', async () => {
    const link = await invite('faulty@example.org');
    const browser = new Visitor(first.url);
    const faulty = await accept(browser, link, { name: ' ', password: 'short' });
    expect(faulty.status).toBe(422);
    expect(textOf(faulty.text)).toMatch(
      /Enter a name of 1 to 255 characters.*must have at least 10 characters/,
    );
    const common = await browser.submit(faulty, MAKE, { name: 'F', password: 'passwordpassword' });
    expect(textOf(common.text)).toContain('This password is too common.');
    const foreign = await browser.submit(common, MAKE, { name: 'F', password: PASSWORD, csrf_token: 'x' });
    expect(foreign.status).toBe(403);
    const other = await browser.submit(
      common,
      MAKE,
      { name: 'F', password: PASSWORD },
      { Origin: 'https://e.example' },
    );
    expect(other.status).toBe(403);
    expect(await usersOf('faulty@example.org')).toEqual([]);
    expect((await browser.submit(common, MAKE, { name: 'F', password: PASSWORD })).status).toBe(303);
  });

  it('is refused once its address has an account', async () => {
    const link = await invite('dev@example.org');
    await second.newcomer('dev');
    expect((await accept(new Visitor(first.url), link)).status).toBe(404);
    const passwords = await first.database.query(
      `SELECT FROM auth_accounts a JOIN users u ON u.id = a.user_id WHERE u.email = 'dev@example.org'`,
    );
    expect(passwords).toEqual([]);
    await expect(invite('dev@example.org')).rejects.toThrow('there is an account dev@example.org already');
    await expect(invite('not an address')).rejects.toThrow('email must be an email address');
  });

  it('is stored as a hash, and its token is in no log line', async () => {
    const link = await invite('hashed@example.org');
    const token = new URL(link, BASE_URL).searchParams.get('token')!;
    await new Visitor(first.url).get(link);
    await accept(new Visitor(second.url), link);
    expect(first.logged() + second.logged()).toContain('/account/invitation?token=[redacted]');
    expect(first.logged() + second.logged()).not.toContain(token);
    const [row] = await first.database.query(
      `SELECT (SELECT json_agg(i)::text FROM invitations i) AS invitations, (SELECT json_agg(e)::text FROM audit_events e) AS events`,
    );
    expect(JSON.stringify(row)).not.toContain(token);
  });

  it('does not allow a sign-up without its link', async () => {
    await invite('closed@example.org');
    await supertest(first.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', BASE_URL)
      .send({ email: 'closed@example.org', name: 'C', password: PASSWORD })
      .expect(400);
    for (const token of ['', 'x', 'A'.repeat(43)])
      expect((await new Visitor(first.url).get(`/account/invitation?token=${token}`)).status).toBe(404);
  });
});

describe('invitations on the admin page', () => {
  let open: TestService;
  beforeAll(async () => {
    open = await startService();
  });
  afterAll(() => open.close());

  it('are created, listed and revoked, with a link that works', async () => {
    const { browser, id } = await administratorAt(open, 'inviter');
    const page = await browser.get('/admin/invitations');
    const invited = await browser.submit(page, 'Invite', { email: 'Guest@example.org' });
    const { pathname, search } = new URL(elementOf(invited, 'link').value!);
    expect(textOf((await browser.get('/admin/invitations')).text)).toContain('guest@example.org');
    expect((await browser.get('/admin/invitations')).text).not.toContain(search);
    expect((await accept(new Visitor(open.url), pathname + search)).status).toBe(303);

    const second = await browser.submit(page, 'Invite', { email: 'second@example.org' });
    const link = new URL(elementOf(second, 'link').value!);
    const list = await browser.get('/admin/invitations');
    expect(textOf(list.text)).not.toContain('guest@example.org');
    await browser.submit(list, 'Revoke the invitation of second@example.org');
    expect((await new Visitor(open.url).get(link.pathname + link.search)).status).toBe(404);
    const events = await open.app.get(AuditLog).page(10);
    expect(events.filter(({ userId }) => userId === null)).toEqual(
      ['invitation.revoked', 'account.invited', 'account.invited'].map((action) =>
        expect.objectContaining({ action, actor: 'administrator', actorId: id, ip: '127.0.0.1' }),
      ),
    );
  });

  it('are refused for an address with an account', async () => {
    const { browser } = await administratorAt(open, 'second-inviter');
    const { email } = await personAt(open, 'member');
    const refused = await browser.submit(await browser.get('/admin/invitations'), 'Invite', { email });
    expect([refused.status, textOf(refused.text)]).toEqual([
      409,
      expect.stringContaining('There is an account'),
    ]);
  });
});
