import { Mail } from '../../../src/platform/mail/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { eventually, startService, stopIntervals, type TestService } from '../../kit/index.js';
import { TestSmtp } from '../../kit/smtp.js';

const HOUR_MS = 60 * 60_000;

let smtp: TestSmtp;
let first: TestService;
let second: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start();
  first = await startService({ env: smtp.env });
  second = await startService({ env: smtp.env, beside: first });
});
afterAll(async () => {
  await second.close();
  await first.close();
  await smtp.goAway();
});
beforeEach(async () => {
  Object.assign(smtp.faults, {
    refuse: undefined,
    losesAnswer: false,
    hold: undefined,
    refuseContent: undefined,
  });
  await first.database.query('DELETE FROM mail_queue');
  smtp.received.length = 0;
});

const mailOf = ({ app }: TestService): Mail => app.get(Mail);
const queue = (to: string, at = first): Promise<void> => mailOf(at).queue({ template: 'test', to });

async function waiting(): Promise<{ attempts: number; recipient: string }[]> {
  return first.database.query('SELECT attempts, recipient FROM mail_queue ORDER BY queued_at, recipient');
}

/** Resolves when the only mail has failed once and waits for its next attempt, which is sooner than the end of a lease. */
const failedOnce = (): Promise<void> =>
  eventually(async () => {
    const failed = `SELECT FROM mail_queue WHERE attempts = 1 AND due_at < queued_at + interval '2 minutes'`;
    expect(await first.database.query(failed)).toHaveLength(1);
  });

describe('a mail', () => {
  it('is sent over STARTTLS with authentication, as text and HTML, and its row is deleted', async () => {
    await queue('alice@example.org');
    const mail = await smtp.mailTo('alice@example.org');
    expect(mail).toMatchObject({
      from: 'sync@example.org',
      to: ['alice@example.org'],
      isEncrypted: true,
      user: 'sync',
      headers: {
        from: 'Example Sync <sync@example.org>',
        to: 'alice@example.org',
        subject: 'Test mail from localhost:8787',
        'auto-submitted': 'auto-generated',
        'message-id': expect.stringMatching(/^<[0-9a-f-]{36}@example\.org>$/),
      },
    });
    expect(mail.text).toContain('The service at localhost:8787 can send mail to this address.');
    expect(mail.html).toContain('The service at localhost:8787 can send mail to this address.');
    expect(mail.html).not.toMatch(/<img|<script|<link|src=|url\(/);
    await eventually(async () => expect(await waiting()).toEqual([]));
  });

  it('is sent if and only if its transaction commits', async () => {
    const database = first.app.get(Database);
    const undone = database.transaction(async (tx) => {
      await mailOf(first).queue({ template: 'test', to: 'undone@example.org' }, tx);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    await database.transaction((tx) => mailOf(first).queue({ template: 'test', to: 'done@example.org' }, tx));
    await smtp.mailTo('done@example.org');
    expect(smtp.received).toHaveLength(1);
  });

  it('is sent once, even when two instances look for it at the same time', async () => {
    const all = Array.from({ length: 60 }, (_, i) => `someone-${i}@example.org`);
    await Promise.all(all.map((to, i) => queue(to, i % 2 ? first : second)));
    await Promise.all([mailOf(first).sendDue(), mailOf(second).sendDue()]);
    await eventually(async () => expect(await waiting()).toEqual([]));
    expect(smtp.received.flatMap(({ to }) => to).sort()).toEqual(all.sort());
  });

  it('that is queued without a notification is found by polling', async () => {
    await first.database.query(
      `INSERT INTO mail_queue (recipient, template, parameters, queued_at, due_at)
       VALUES ('polled@example.org', 'test', '{}', $1, $1)`,
      [first.clock.now()],
    );
    await smtp.mailTo('polled@example.org');
  });
});

describe('a mail server', () => {
  it('that refuses the recipient permanently is not asked again', async () => {
    smtp.faults.refuse = () => 550;
    await queue('nobody@example.org');
    await eventually(async () => expect(await waiting()).toEqual([]));
    const refusal = '"outcome":"refused","code":"EENVELOPE RCPT TO 550"';
    await eventually(() => expect(first.logged() + second.logged()).toContain(refusal));
    expect(first.logged() + second.logged()).not.toContain('nobody@example.org');
  });

  it('that refuses the content permanently is not asked again', async () => {
    smtp.faults.refuseContent = 554;
    await queue('spam@example.org');
    await eventually(async () => expect(await waiting()).toEqual([]));
    expect(smtp.received).toEqual([]);
  });

  it('that refuses the recipient temporarily is asked again half a minute later', async () => {
    smtp.faults.refuse = () => 450;
    await queue('greylisted@example.org');
    await failedOnce();
    smtp.faults.refuse = undefined;
    await mailOf(first).sendDue();
    expect(smtp.received).toEqual([]);
    first.clock.advance(30_000);
    await smtp.mailTo('greylisted@example.org');
  });

  it('that is away gets the mail when it is back', async () => {
    await smtp.goAway();
    await queue('patient@example.org');
    await failedOnce();
    await smtp.comeBack();
    first.clock.advance(30_000);
    await smtp.mailTo('patient@example.org');
    await eventually(async () => expect(await waiting()).toEqual([]));
  });

  it('that is away for a day no longer gets the mail', async () => {
    await smtp.goAway();
    await queue('late@example.org');
    await failedOnce();
    first.clock.advance(24 * HOUR_MS);
    await eventually(async () => expect(await waiting()).toEqual([]));
    expect(first.logged() + second.logged()).toContain('"outcome":"given_up"');
    await smtp.comeBack();
  });

  it('whose answer is lost gets the mail again, recognisable by its Message-ID', async () => {
    smtp.faults.losesAnswer = true;
    await queue('twice@example.org');
    await failedOnce();
    smtp.faults.losesAnswer = false;
    first.clock.advance(30_000);
    await eventually(() => expect(smtp.to('twice@example.org')).toHaveLength(2));
    const ids = smtp.to('twice@example.org').map(({ headers }) => headers['message-id']);
    expect(ids[0]).toBe(ids[1]);
  });

  it('that is slow gets four mails at a time from an instance, and delays no request', async () => {
    let release = (): void => undefined;
    smtp.faults.hold = new Promise((resolve) => (release = resolve));
    stopIntervals(second);
    await mailOf(second).sendDue(); // waits for a search that may have begun
    for (let i = 0; i < 6; i++) await queue(`slow-${i}@example.org`);
    await eventually(async () =>
      expect((await waiting()).map(({ attempts }) => attempts).sort()).toEqual([0, 0, 1, 1, 1, 1]),
    );
    await first.newcomer('impatient');
    expect(smtp.received).toEqual([]);
    release();
    await eventually(() => expect(smtp.received).toHaveLength(6));
    await eventually(async () => expect(await waiting()).toEqual([]));
  });
});

describe('an instance that shuts down', () => {
  it('lets deliveries in progress finish', async () => {
    let release = (): void => undefined;
    smtp.faults.hold = new Promise((resolve) => (release = resolve));
    const third = await startService({ env: smtp.env, beside: first });
    stopIntervals(first);
    await queue('last@example.org', third);
    await eventually(async () => expect(await waiting()).toMatchObject([{ attempts: 1 }]));
    const closed = third.close();
    release();
    await closed;
    expect(await waiting()).toEqual([]);
    expect(smtp.received).toHaveLength(1);
  });
});

describe('a mail server on another machine', () => {
  it('gets no mail without a valid certificate', async () => {
    const { networkInterfaces } = await import('node:os');
    const [outer] = Object.values(networkInterfaces())
      .flat()
      .filter((one) => one && !one.internal && one.family === 'IPv4');
    const host = outer?.address;
    if (host === undefined) return; // a machine without a network
    const far = await TestSmtp.start({ host });
    const near = await startService({ env: far.env });
    await mailOf(near).queue({ template: 'test', to: 'alice@example.org' });
    await eventually(() => expect(near.logged()).toContain('"outcome":"failed","code":"E'));
    expect(far.received).toEqual([]);
    await near.close();
    await far.goAway();
  });
});
