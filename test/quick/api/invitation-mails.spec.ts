import { Invitations } from '../../../src/domain/accounts/index.js';
import { Mail } from '../../../src/platform/mail/index.js';
import { adminReport } from '../../kit/admin.js';
import { administratorAt, PASSWORD } from '../../kit/administrators.js';
import { BASE_URL, eventually, startService, type TestService } from '../../kit/index.js';
import { TestSmtp } from '../../kit/smtp.js';
import { elementOf, textOf, Visitor } from '../../kit/visitor.js';

const MAKE = 'Make your account';
const BY_OPERATOR = { actor: 'operator' } as const;

let smtp: TestSmtp;
let service: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start({ isPlain: true });
  service = await startService({ env: { ...smtp.env, SIGNUP_ENABLED: 'false' } });
});
afterAll(async () => {
  await service.close();
  await smtp.goAway();
});

const invite = (email: string): Promise<{ link: string }> =>
  service.app.get(Invitations).invite(email, BY_OPERATOR);

const queueHasMail = async (): Promise<void> =>
  expect(await service.database.query('SELECT FROM mail_queue')).not.toEqual([]);

const failedAttempts = (): number => service.logged().split('a mail was not sent').length - 1;

const queueIsEmpty = (): Promise<void> =>
  eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));

async function mailedTo(email: string): Promise<string> {
  const { text, html } = await smtp.mailTo(email);
  const [, link = ''] = /Make your account:\n(\S+)\n/.exec(text)!;
  expect(html).toContain(`<a href="${link}"`);
  return link.slice(BASE_URL.length);
}

const accept = async (browser: Visitor, path: string): Promise<number> =>
  (await browser.submit(await browser.get(path), MAKE, { name: 'Guest', password: PASSWORD })).status;

describe('an invitation from a service that can send mail', () => {
  it('is mailed with the link that is shown, which creates one account', async () => {
    const { link } = await invite('Ann@Example.org');
    const path = await mailedTo('ann@example.org');
    expect(BASE_URL + path).toBe(link);
    const [mail] = smtp.to('ann@example.org');
    expect(mail!.headers.subject).toBe('Your invitation to localhost:8787');
    expect(mail!.text).toMatch(/The link works once, until \d+ \w+ \d{4} at \d\d:\d\d UTC\./);
    expect(mail!.headers['list-unsubscribe']).toBeUndefined();
    expect(await accept(new Visitor(service.url), path)).toBe(303);
    expect((await new Visitor(service.url).get(path)).status).toBe(404);
  });

  it('is mailed by the service when the admin command creates it, which prints the link too', async () => {
    const env = { ...smtp.env, DATA_DIR: service.dataDir, DATABASE_URL: service.database.url };
    const { text, ...report } = await adminReport(env, 'user', 'invite', 'bob@example.org');
    expect(report).toMatchObject({ email: 'bob@example.org', mailed: true });
    expect(text).toMatch(
      /^Invited bob@example\.org\. A mail with this link is on its way; pass the link on if it does/,
    );
    expect(BASE_URL + (await mailedTo('bob@example.org'))).toBe((report as { link?: string }).link);
    await adminReport(env, 'user', 'invite', 'not-bob@example.org', '--dry-run');
    await queueIsEmpty();
    expect(smtp.to('not-bob@example.org')).toEqual([]);
  });

  it('is mailed when an administrator creates it, and the page shows the link too', async () => {
    const open = await startService({ env: { ...smtp.env, EMAIL_VERIFICATION: 'optional' } });
    const { browser } = await administratorAt(open, 'inviter');
    const form = await browser.get('/admin/invitations');
    const page = await browser.submit(form, 'Invite', { email: 'cid@example.org' });
    expect(textOf(page.text)).toContain('A mail with this link is on its way to cid@example.org.');
    const path = await mailedTo('cid@example.org');
    expect(elementOf(page, 'link').value).toBe(BASE_URL + path);
    expect(await accept(new Visitor(open.url), path)).toBe(303);
    await open.close();
  });

  it.each([
    ['revoked', () => service.app.get(Invitations).revoke('revoked@example.org', BY_OPERATOR)],
    ['replaced', () => invite('replaced@example.org')],
    [
      'expired',
      async () => {
        service.clock.advance(7 * 24 * 60 * 60_000);
        await queueHasMail();
      },
    ],
  ])('is no longer mailed once it is %s', async (what, happens) => {
    const email = `${what}@example.org`;
    await smtp.goAway();
    const before = failedAttempts();
    const { link } = await invite(email);
    await eventually(() => expect(failedAttempts()).toBe(before + 1)); // else it could be on its way already
    await happens();
    await smtp.comeBack();
    service.clock.advance(10 * 60_000);
    await service.app.get(Mail).sendDue();
    await queueIsEmpty();
    for (const { text } of smtp.to(email)) expect(text).not.toContain(link);
    expect(smtp.to(email)).toHaveLength(what === 'replaced' ? 1 : 0);
  });

  it('does not wait for the mail server, and neither queue, database nor log has its token', async () => {
    await smtp.goAway();
    const { link } = await invite('dan@example.org');
    const queued = JSON.stringify(await service.database.query('SELECT * FROM mail_queue'));
    const stored = JSON.stringify(await service.database.query('SELECT * FROM invitations'));
    await smtp.comeBack();
    service.clock.advance(10 * 60_000);
    const path = await mailedTo('dan@example.org');
    expect(BASE_URL + path).toBe(link);
    await new Visitor(service.url).get(path);
    const token = new URL(link).searchParams.get('token')!;
    for (const text of [queued, stored, service.logged()]) expect(text).not.toContain(token);
  });

  it('is repeated with the same link when the answer of the mail server is lost', async () => {
    smtp.faults.losesAnswer = true;
    const { link } = await invite('eve@example.org');
    await mailedTo('eve@example.org');
    smtp.faults.losesAnswer = false;
    await eventually(() => {
      service.clock.advance(60_000);
      expect(smtp.to('eve@example.org')).toHaveLength(2);
    });
    for (const { text } of smtp.to('eve@example.org')) expect(text).toContain(`${link}\n`);
  });
});

describe('an invitation from a service that cannot send mail', () => {
  it('is shown, and no mail is queued', async () => {
    const bare = await startService();
    const env = { DATA_DIR: bare.dataDir, DATABASE_URL: bare.database.url };
    const { text, ...report } = await adminReport(env, 'user', 'invite', 'ann@example.org');
    const { link } = report as { link?: string };
    expect(report).toMatchObject({ mailed: false });
    expect(text).toMatch(/^Invited ann@example\.org\. This link makes the account, once, until \S+:\nhttp/);
    const { browser } = await administratorAt(bare, 'inviter');
    const form = await browser.get('/admin/invitations');
    const page = await browser.submit(form, 'Invite', { email: 'bob@example.org' });
    expect(textOf(page.text)).toContain('Send this link to bob@example.org.');
    expect(await bare.database.query('SELECT FROM mail_queue')).toEqual([]);
    expect(await accept(new Visitor(bare.url), link!.slice(BASE_URL.length))).toBe(303);
    await bare.close();
  });
});
