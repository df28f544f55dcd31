import supertest from 'supertest';
import { type AuditEvent, AuditLog } from '../../../src/domain/auth/audit/index.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import {
  administratorAt,
  giveFactor,
  PASSWORD,
  type Person,
  personAt,
  promote,
} from '../../kit/administrators.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { elementOf, formsOf, textOf } from '../../kit/visitor.js';

let first: TestService;
let second: TestService;
let administrator: Person;
beforeAll(async () => {
  first = await startService();
  second = await startService({ beside: first });
  administrator = await administratorAt(second, 'administrator');
});
afterAll(async () => {
  await second.close();
  await first.close();
});

const pageOf = ({ id }: Person): Promise<supertest.Response> =>
  administrator.browser.get(`/admin/accounts/${id}`);

/** Submits a form of an account's page, and follows the redirect. */
async function act(
  person: Person,
  label: string,
  fields: Readonly<Record<string, string | undefined>> = {},
): Promise<supertest.Response> {
  const answer = await administrator.browser.submit(await pageOf(person), label, fields);
  if (answer.status !== 303) return answer;
  return administrator.browser.get(answer.headers.location as string);
}

const eventsOf = ({ id }: Person): Promise<AuditEvent[]> => first.app.get(AuditLog).ofUser(id, 10);

const byAdministrator = (action: string, details = {}): object =>
  expect.objectContaining({
    action,
    actor: 'administrator',
    actorId: administrator.id,
    ip: '127.0.0.1',
    userAgent: expect.any(String),
    details,
  });

const signIn = (email: string, password = PASSWORD): supertest.Test =>
  supertest(first.url).post('/api/auth/sign-in/email').set('Origin', BASE_URL).send({ email, password });

describe('an administrator', () => {
  it('disconnects an account from single sign-on', async () => {
    const person = await personAt(first, 'to-unlink');
    expect(formsOf(await pageOf(person)).map(({ label }) => label)).not.toContain(
      'Disconnect single sign-on',
    );
    await first.database.query(
      `INSERT INTO auth_accounts (user_id, account_id, provider_id, updated_at)
       VALUES ($1, 'subject', 'oidc:https://login.example.org', now())`,
      [person.id],
    );
    const page = await act(person, 'Disconnect single sign-on');
    expect(textOf(page.text)).toContain('The account is no longer linked to single sign-on');
    expect((await eventsOf(person))[0]).toEqual(byAdministrator('single-sign-on.unlinked', { provider: '' }));
    expect(formsOf(await pageOf(person)).map(({ label }) => label)).not.toContain(
      'Disconnect single sign-on',
    );
    expect(textOf((await person.browser.get('/account')).text)).toContain('Sign in to your account');
  });

  it('suspends and resumes an account, on every instance at once', async () => {
    const person = await personAt(first, 'to-suspend');
    const suspended = await act(person, 'Suspend');
    expect(textOf(suspended.text)).toContain('The account is suspended. Its data is kept.');
    expect((await person.browser.get('/account')).status).toBe(403);
    await act(person, 'Resume');
    expect((await person.browser.get('/account')).status).toBe(200);
    expect(await eventsOf(person)).toEqual([
      byAdministrator('account.resumed'),
      byAdministrator('account.suspended'),
    ]);
  });

  it('ends all sign-ins of an account, with the one-time tokens of its apps', async () => {
    const person = await personAt(first, 'to-sign-out');
    const handoff = await person.browser.submit(
      await person.browser.get('/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789'),
      'Continue',
    );
    const token = new URL(elementOf(handoff, 'link').value!).searchParams.get('token')!;
    await act(person, 'End all sign-ins');
    expect(textOf((await person.browser.get('/account')).text)).toContain('Sign in to your account');
    await supertest(first.url)
      .post('/api/auth/one-time-token/verify')
      .set('Origin', BASE_URL)
      .send({ token })
      .expect(400);
    const [event] = await eventsOf(person);
    expect(event).toEqual(byAdministrator('sessions.ended', { sessions: 3 }));
  });

  it('resets a password, shows the new one once, and keeps it out of log and audit log', async () => {
    const person = await personAt(first, 'to-reset');
    const page = await act(person, 'Reset the password');
    const { value: password } = elementOf(page, 'new-password');
    await signIn(person.email).expect(401);
    await signIn(person.email, password).expect(200);
    expect(textOf((await person.browser.get('/account')).text)).toContain('Sign in to your account');
    const events = await eventsOf(person);
    expect(events).toEqual([byAdministrator('password.reset')]);
    expect(second.logged()).not.toContain(password);
  });

  it('removes a second factor and passkeys, and ends all sign-ins', async () => {
    const person = await personAt(first, 'to-reset-factors');
    await first.database.query(
      `INSERT INTO auth_passkeys (user_id, public_key, credential_id, counter, device_type, backed_up, created_at)
       VALUES ($1, 'not used', 'a passkey', 0, 'singleDevice', false, now())`,
      [person.id],
    );
    await giveFactor(first, person);
    const done = await act(person, 'Remove the second factor and passkeys');
    expect(textOf(done.text)).toContain('The second factor and all passkeys are removed');
    for (const table of ['auth_two_factors', 'auth_passkeys', 'auth_sessions'])
      expect(await first.database.query(`SELECT FROM ${table} WHERE user_id = $1`, [person.id])).toEqual([]);
    await signIn(person.email).expect(200);
    expect(await eventsOf(person)).toEqual([byAdministrator('factor.reset', { factors: 1, passkeys: 1 })]);
  });

  it('grants a plan', async () => {
    const person = await personAt(first, 'to-grant');
    await act(person, 'Set the plan', { status: 'active', until: '2099-01-31T12:00:00Z' });
    expect(await first.app.get(Subscriptions).of(person.id)).toMatchObject({ plan: 'pro', status: 'active' });
    const details = { status: 'active', until: '2099-01-31T12:00:00.000Z' };
    expect(await eventsOf(person)).toEqual([byAdministrator('plan.granted', details)]);

    for (const fields of [
      { status: 'best' },
      { until: 'soon' },
      { status: 'trial', until: '2000-01-01T00:00:00Z' },
    ]) {
      const refused = await act(person, 'Set the plan', { status: 'active', until: '', ...fields });
      expect([refused.status, textOf(refused.text)]).toEqual([400, expect.stringContaining('Not done')]);
    }
    const withoutEnd = await act(person, 'Set the plan', { status: 'active', until: undefined });
    expect([withoutEnd.status, textOf(withoutEnd.text)]).toEqual([400, expect.stringContaining('Not done')]);
    expect(await eventsOf(person)).toHaveLength(1);
  });

  it('deletes an account whose address is typed, and clears IP and details of earlier events', async () => {
    const person = await personAt(first, 'to-delete');
    await act(person, 'End all sign-ins');
    const refused = await act(person, 'Delete the account', { confirm: 'another@example.org' });
    expect(refused.status).toBe(400);
    expect(textOf(refused.text)).toContain('Confirm must be the email address of the account.');
    await signIn(person.email).expect(200);

    const done = await act(person, 'Delete the account', { confirm: ' To-Delete@Example.org ' });
    expect(textOf(done.text)).toContain('The account is deleted.');
    await signIn(person.email).expect(401);
    const [deleted, ...earlier] = await eventsOf(person);
    expect(deleted).toEqual(byAdministrator('account.deleted'));
    expect(earlier).toEqual([
      expect.objectContaining({ action: 'sessions.ended', ip: null, userAgent: null, details: {} }),
    ]);
    const audit = await administrator.browser.get(`/admin/audit?user=${person.id}`);
    expect(textOf(audit.text)).toContain(
      `account ${person.id} (deleted), by administrator ${administrator.email}`,
    );
    expect(textOf((await administrator.browser.get('/admin/audit')).text)).not.toContain(person.email);
  });

  it('demotes another administrator', async () => {
    const other = await administratorAt(first, 'to-demote');
    expect((await other.browser.get('/admin')).status).toBe(200);
    await act(other, 'Demote');
    expect((await other.browser.get('/admin')).status).toBe(404);
    expect((await eventsOf(other))[0]).toEqual(byAdministrator('account.demoted'));
  });

  it.each(['suspend', 'reset-factors', 'demote', 'delete'])('cannot %s their own account', async (name) => {
    const page = await pageOf(administrator);
    expect(formsOf(page).map(({ action }) => action)).not.toContain(
      `/admin/accounts/${administrator.id}/${name}`,
    );
    const fields = [
      ['csrf_token', formsOf(page)[0]!.values.csrf_token!],
      ['confirm', administrator.email],
    ] as const;
    for (const id of [administrator.id, administrator.id.toUpperCase()]) {
      const answer = await administrator.browser.post(`/admin/accounts/${id}/${name}`, fields);
      expect([answer.status, textOf(answer.text)]).toEqual([
        409,
        expect.stringContaining('your own account'),
      ]);
    }
    expect((await administrator.browser.get('/admin')).status).toBe(200);
  });

  it('sees the health of the service, and sets the kill switch', async () => {
    const page = await administrator.browser.get('/admin/service');
    expect(textOf(page.text)).toMatch(/This instance Ready .*Version \d+\.\d+\.\d+ Instances 2/);
    const done = await administrator.browser.submit(page, 'Set the kill switch', { mode: 'read-only' });
    expect(done.headers.location).toBe('/admin/service?done=kill-switch');
    for (const { app } of [first, second]) {
      await app.get(KillSwitch).look();
      expect(app.get(KillSwitch).mode).toBe('read-only');
    }
    const [event] = await first.app.get(AuditLog).page(1);
    expect(event).toEqual(byAdministrator('kill-switch.set', { mode: 'read-only' }));
    const again = await administrator.browser.get('/admin/service');
    expect(textOf(again.text)).toContain('It is read-only');
    await administrator.browser.submit(again, 'Set the kill switch', { mode: 'off' });
    await second.app.get(KillSwitch).look();
    await first.app.get(KillSwitch).look();
    const unknown = await administrator.browser.submit(again, 'Set the kill switch', { mode: 'sideways' });
    expect(unknown.status).toBe(400);
  });

  it('starts a check in the background, and sees its result on the other instance', async () => {
    const page = await administrator.browser.get('/admin/service');
    expect(textOf(page.text)).toContain('It has not run yet.');
    await first.database.query(`INSERT INTO doctor_runs (started_at) VALUES ($1)`, [first.clock.now()]);
    const refused = await administrator.browser.submit(page, 'Start a check');
    expect(refused.status).toBe(409);
    await first.database.query('DELETE FROM doctor_runs');

    await administrator.browser.submit(page, 'Start a check');
    await first.database.eventually('SELECT FROM doctor_runs WHERE ended_at IS NOT NULL');
    const other = await administratorAt(first, 'beside');
    expect(textOf((await other.browser.get('/admin/service')).text)).toContain('No problems found.');
    const [event] = (await first.app.get(AuditLog).page(5)).filter(({ action }) => action === 'doctor.run');
    expect(event).toEqual(byAdministrator('doctor.run'));
  });

  it('reads the audit log page by page, and for one account', async () => {
    const person = await personAt(first, 'audited');
    await first.database.query(
      `INSERT INTO audit_events (at, user_id, action, actor, details)
       SELECT now(), $1, 'token.minted', 'user', jsonb_build_object('name', 'token-' || n, 'scopes', 'full')
       FROM generate_series(1, 150) n`,
      [person.id],
    );
    const page = await administrator.browser.get(`/admin/audit?user=${person.email}`);
    expect(textOf(page.text)).toContain('Access token token-150 made, for full');
    expect(page.text.match(/Access token token-/g)).toHaveLength(100);
    const [, older] = /href="([^"]*before=\d+)">Older events/.exec(page.text)!;
    const rest = await administrator.browser.get(older!.replace('&amp;', '&'));
    expect(rest.text.match(/Access token token-/g)).toHaveLength(50);
    expect((await administrator.browser.get('/admin/audit?before=x')).status).toBe(400);
    const none = await administrator.browser.get('/admin/audit?user=absent@example.org');
    expect(textOf(none.text)).toContain('There is no such event.');
  });

  it('sees that a promoted user has no second factor', async () => {
    const person = await personAt(first, 'halfway');
    await promote(first, person);
    expect(textOf((await pageOf(person)).text)).toContain('Second factor No');
  });
});
