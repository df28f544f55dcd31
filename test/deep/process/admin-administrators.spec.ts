import { CommanderError } from 'commander';
import { AuditLog } from '../../../src/domain/auth/audit/index.js';
import { adminJson, adminReport } from '../../kit/admin.js';
import { giveFactor, PASSWORD, personAt } from '../../kit/administrators.js';
import { startService, type TestService } from '../../kit/index.js';
import { formOf, Visitor } from '../../kit/visitor.js';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const env = (): Record<string, string> => ({ DATA_DIR: service.dataDir, DATABASE_URL: service.database.url });
const admin = (...args: string[]): Promise<Record<string, unknown>> => adminJson(env(), ...args);
const told = async (...args: string[]): Promise<string> => (await adminReport(env(), ...args)).text;

describe('admin user promote and demote', () => {
  it('open and close /admin with the next request, and are recorded', async () => {
    const person = await personAt(service, 'lead');
    await giveFactor(service, person);
    expect(await admin('user', 'promote', person.email, '--dry-run')).toMatchObject({
      dryRun: true,
      changed: true,
    });
    expect((await person.browser.get('/admin')).status).toBe(404);
    const promoted = { id: person.id, email: person.email, administrator: true, hasSecondFactor: true };
    expect(await admin('user', 'promote', person.email)).toEqual({ ...promoted, changed: true });
    expect(await admin('user', 'promote', person.email)).toEqual({ ...promoted, changed: false });
    expect((await person.browser.get('/admin')).status).toBe(200);
    expect(await admin('user', 'show', person.email)).toMatchObject({ promotedAt: expect.any(String) });
    expect(await told('user', 'list', '--search', 'lead@')).toContain('administrator');

    expect(await admin('user', 'demote', person.email)).toMatchObject({
      administrator: false,
      changed: true,
    });
    expect((await person.browser.get('/admin')).status).toBe(404);
    expect(await admin('user', 'show', person.email)).toMatchObject({ promotedAt: null });
    const events = await service.app.get(AuditLog).ofUser(person.id, 5);
    expect(events.map(({ action, actor, ip }) => [action, actor, ip])).toEqual([
      ['account.demoted', 'operator', null],
      ['account.promoted', 'operator', null],
    ]);
  });

  it('report a missing second factor', async () => {
    const { email } = await personAt(service, 'bare');
    expect(await told('user', 'promote', email)).toMatch(/is now an administrator\. .*second factor/);
    await expect(admin('user', 'promote', 'absent@example.org')).rejects.toThrow('there is no account');
  });
});

describe('admin user invite, invitations and uninvite', () => {
  it('print a link that creates an account, and revoke it', async () => {
    expect(await admin('user', 'invite', 'Guest@example.org', '--dry-run')).toEqual({
      dryRun: true,
      email: 'guest@example.org',
    });
    expect(await admin('user', 'invitations')).toEqual({ invitations: [] });
    const { link } = (await admin('user', 'invite', 'Guest@example.org')) as { link: string };
    expect(await told('user', 'invitations')).toContain('guest@example.org');
    const { pathname, search } = new URL(link);
    const browser = new Visitor(service.url);
    const form = await browser.get(pathname + search);
    expect(formOf(form, 'Make your account').values.token).toMatch(/^[\w-]{43}$/);
    await admin('user', 'uninvite', 'guest@example.org');
    const late = await browser.submit(form, 'Make your account', { name: 'Guest', password: PASSWORD });
    expect(late.status).toBe(404);
    await expect(admin('user', 'uninvite', 'guest@example.org')).rejects.toThrow(
      'there is no open invitation',
    );
    await expect(admin('user', 'invite', 'no address')).rejects.toThrow(CommanderError);
  });
});

describe('admin audit', () => {
  it('lists events newest first, in pages, and for one account', async () => {
    const person = await personAt(service, 'listed');
    await admin('user', 'suspend', person.email);
    await admin('user', 'resume', person.email);
    await admin('kill-switch', 'off');
    await admin('doctor');
    const { events } = (await admin('audit', '--user', person.email)) as { events: object[] };
    expect(events).toEqual(
      ['account.resumed', 'account.suspended'].map((action) =>
        expect.objectContaining({
          action,
          email: person.email,
          userId: person.id,
          actor: 'operator',
          ip: null,
        }),
      ),
    );
    const { events: page, next } = (await admin('audit', '--limit', '2')) as {
      events: object[];
      next: number;
    };
    expect(page).toEqual([
      expect.objectContaining({ action: 'doctor.run', userId: null, details: { deep: false, fix: false } }),
      expect.objectContaining({ action: 'kill-switch.set', userId: null, details: { mode: 'off' } }),
    ]);
    const older = (await admin('audit', '--limit', '1', '--before', String(next))) as { events: object[] };
    expect(older.events).toEqual([expect.objectContaining({ action: 'account.resumed' })]);
    expect(await told('audit', '--user', person.email)).toMatch(
      /^\d{4}-\S+Z {2}account\.resumed {2}listed@example\.org {2}by operator\n/,
    );
    await expect(admin('audit', '--user', 'absent@example.org')).rejects.toThrow('there is no account');
    await expect(admin('audit', '--before', 'x')).rejects.toThrow(CommanderError);
  });

  it('records nothing for a dry run', async () => {
    const { email, id } = await personAt(service, 'dry');
    const last = await service.app.get(AuditLog).page(1);
    for (const command of [
      ['user', 'suspend', email],
      ['user', 'delete', email],
      ['user', 'reset-password', email],
      ['user', 'promote', email],
      ['subscription', 'grant', email, '--status', 'active'],
      ['kill-switch', 'down'],
      ['doctor', '--fix'],
    ])
      await admin(...command, '--dry-run');
    expect(await service.app.get(AuditLog).page(1)).toEqual(last);
    expect(await service.app.get(AuditLog).ofUser(id, 1)).toEqual([]);
  });
});
