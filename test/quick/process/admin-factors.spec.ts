import supertest from 'supertest';
import { adminReport } from '../../kit/admin.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { turnOnFactor } from '../../kit/second-factor.js';

const PASSWORD = 'correct horse battery staple';
const email = 'ada@example.org';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const post = (action: string, body: object): supertest.Test =>
  supertest(service.url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body).expect(200);

describe('admin user reset-factors', () => {
  it('removes the second factor and ends the sessions; with --dry-run it changes nothing', async () => {
    const beside = { DATA_DIR: service.dataDir, DATABASE_URL: service.database.url };
    const { body } = await post('sign-up/email', { email, name: 'Ada', password: PASSWORD });
    await turnOnFactor(service, body.token);
    const counts = { factors: 1, passkeys: 0, sessions: 1 };
    const preview = await adminReport(beside, 'user', 'reset-factors', email, '--dry-run');
    expect(preview).toMatchObject({ dryRun: true, email, ...counts });
    const pending = await post('sign-in/email', { email, password: PASSWORD });
    expect(pending.body).toHaveProperty('twoFactorRedirect', true);

    const report = await adminReport(beside, 'user', 'reset-factors', email);
    expect(report).toMatchObject({ email, ...counts });
    expect(report.text).toContain('Removed 1 second factor, 0 passkeys and 1 session of ada@example.org.');
    const session = await supertest(service.url)
      .get('/api/auth/get-session')
      .set('Authorization', `Bearer ${body.token}`);
    expect(session.body).toBeNull();
    expect((await post('sign-in/email', { email, password: PASSWORD })).body).toHaveProperty('token');
    const events = await service.database.query(
      `SELECT action, actor FROM audit_events WHERE action = 'factor.reset'`,
    );
    expect(events).toEqual([{ action: 'factor.reset', actor: 'operator' }]);
  });
});

describe('admin user unlink', () => {
  it('ends the link to single sign-on and the sessions; with --dry-run it changes nothing', async () => {
    const beside = { DATA_DIR: service.dataDir, DATABASE_URL: service.database.url };
    const address = 'linked@example.org';
    const { body } = await post('sign-up/email', { email: address, name: 'Bea', password: PASSWORD });
    const none = await adminReport(beside, 'user', 'unlink', address, '--dry-run');
    expect(none.text).toBe('linked@example.org is not linked to single sign-on.');
    await service.database.query(
      `INSERT INTO auth_accounts (user_id, account_id, provider_id, updated_at)
       VALUES ($1, 'subject', 'oidc:https://login.example.org', now())`,
      [body.user.id],
    );
    const preview = await adminReport(beside, 'user', 'unlink', address, '--dry-run');
    expect(preview).toMatchObject({ dryRun: true, isLinked: true, hasAnotherWay: true });
    const report = await adminReport(beside, 'user', 'unlink', address);
    expect(report).toMatchObject({ email: address, hasAnotherWay: true, sessions: 1 });
    expect(report.text).toBe('linked@example.org is no longer linked to single sign-on; ended 1 session.');
    const events = await service.database.query(
      `SELECT actor FROM audit_events WHERE action = 'single-sign-on.unlinked'`,
    );
    expect(events).toEqual([{ actor: 'operator' }]);
  });
});
