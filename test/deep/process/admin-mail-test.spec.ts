import { runProcess, ADMIN } from '../../kit/process.js';
import { TestSmtp } from '../../kit/smtp.js';

let smtp: TestSmtp;
beforeAll(async () => {
  smtp = await TestSmtp.start();
});
afterAll(() => smtp.goAway());
beforeEach(() => {
  smtp.received.length = 0;
  smtp.faults.refuse = undefined;
});

/** The command in a separate process, as an operator runs it. */
async function mailTest(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number | null; output: string }> {
  const { code, output } = await runProcess(env, ADMIN, ['mail', 'test', ...args]);
  return { code, output: output.trim() };
}

/** The settings, with another password. */
function withPassword(password: string): Record<string, string> {
  const url = new URL(smtp.env.SMTP_URL!);
  url.password = password;
  return { ...smtp.env, SMTP_URL: url.href };
}

/** The settings with an address of this machine that does not count as loopback. */
function fromAfar({ env }: TestSmtp): Record<string, string> {
  const { port } = new URL(env.SMTP_URL!);
  return { ...env, SMTP_URL: `smtp://sync:secret@0.0.0.0:${port}` };
}

describe('admin mail test ADDRESS', () => {
  it('sends a mail over STARTTLS and prints the response of the server', async () => {
    expect(await mailTest(smtp.env, 'you@example.org')).toEqual({
      code: 0,
      output: 'The mail server accepted the mail: 250 queued as 4711',
    });
    const { isEncrypted, user, headers } = await smtp.mailTo('you@example.org');
    expect({ isEncrypted, user, subject: headers.subject }).toEqual({
      isEncrypted: true,
      user: 'sync',
      subject: 'Test mail from localhost:8787',
    });
  });

  it('prints the response as JSON', async () => {
    const { code, output } = await mailTest(smtp.env, 'you@example.org', '--json');
    expect([code, JSON.parse(output)]).toEqual([0, { outcome: 'sent', response: '250 queued as 4711' }]);
  });

  it.each([
    [550, 'refused'],
    [450, 'failed'],
  ])('exits with 1 when the server refuses the recipient with %i', async (status, outcome) => {
    smtp.faults.refuse = () => status;
    const code = `EENVELOPE RCPT TO ${status}`;
    const said = `${status} <you@example.org> is refused`;
    const plain = await mailTest(smtp.env, 'you@example.org');
    expect(plain.code).toBe(1);
    expect(plain.output).toContain(`The mail was not sent (${code}): `);
    expect(plain.output).toContain(said);
    const { code: exitCode, output } = await mailTest(smtp.env, 'you@example.org', '--json');
    expect([exitCode, JSON.parse(output)]).toEqual([
      1,
      { outcome, code, reason: expect.stringContaining(said) },
    ]);
    expect(smtp.received).toEqual([]);
  });

  it('exits with 1 when the server is unreachable', async () => {
    await smtp.goAway();
    const { code, output } = await mailTest(smtp.env, 'you@example.org');
    await smtp.comeBack();
    expect(code).toBe(1);
    expect(output).toMatch(/^The mail was not sent \(ESOCKET CONN\): .*ECONNREFUSED/);
  });

  it('exits with 1 when the password is wrong, and does not print it', async () => {
    const { code, output } = await mailTest(withPassword('wrong-password'), 'you@example.org');
    expect(code).toBe(1);
    expect(output).toMatch(
      /^The mail was not sent \(EAUTH AUTH [A-Z-]+ 535\): .*Invalid username or password/,
    );
    expect(output).not.toContain('wrong-password');
    expect(smtp.received).toEqual([]);
  });

  it('exits with 1 when the server has no STARTTLS, and sends neither password nor mail', async () => {
    const bare = await TestSmtp.start({ isPlain: true });
    const { code, output } = await mailTest(fromAfar(bare), 'you@example.org');
    expect(code).toBe(1);
    expect(output).toMatch(/^The mail was not sent \(ETLS STARTTLS/);
    expect(bare.received).toEqual([]);
    await bare.goAway();
  });

  it('exits with 1 when the certificate is not valid, and sends neither password nor mail', async () => {
    const { code, output } = await mailTest(fromAfar(smtp), 'you@example.org');
    expect(code).toBe(1);
    expect(output).toMatch(/^The mail was not sent \(E\w+ \w+\): .*certificate/);
    expect(smtp.received).toEqual([]);
  });

  it('exits with 1 without a mail server, and for a malformed address', async () => {
    expect(await mailTest({}, 'you@example.org')).toEqual({
      code: 1,
      output: 'Set SMTP_URL and MAIL_FROM: no mail server is configured.',
    });
    expect(await mailTest(smtp.env, 'you')).toEqual({ code: 1, output: 'this is not an email address' });
    expect((await mailTest(smtp.env)).code).toBe(2);
  });
});
