import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { SignInPasswords } from '../../../src/domain/auth/sign-in-passwords.js';
import { identityRequests } from '../../../src/domain/auth/identity-request.js';
import { PasswordReset } from '../../../src/domain/auth/index.js';
import { adminReport } from '../../kit/admin.js';
import { adminEnded } from '../../kit/ended.js';
import { BASE_URL, holdRow, startService, type TestService } from '../../kit/index.js';
import { waitPatiently } from '../../kit/patient-locks.js';
import { ADMIN, runProcess } from '../../kit/process.js';

const PASSWORD = 'correct horse battery staple';

let service: TestService;
beforeAll(async () => {
  service = await startService();
  await waitPatiently(service);
});
afterAll(() => service.close());

const beside = (): Record<string, string> => ({
  DATA_DIR: service.dataDir,
  DATABASE_URL: service.database.url,
});

async function reset(email: string): Promise<{ password: string; sessions: number; text: string }> {
  const { password, sessions, text } = await adminReport(beside(), 'user', 'reset-password', email);
  return { password: String(password), sessions: Number(sessions), text };
}

function post(action: string, body: object): supertest.Test {
  return supertest(service.url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body);
}

const signIn = (email: string, password: string): supertest.Test =>
  post('sign-in/email', { email, password });

const withSession = (path: string, token: string): supertest.Test =>
  supertest(service.url).get(path).set('Authorization', `Bearer ${token}`);

/** A user with a password and a session. */
async function signUp(name: string): Promise<{ email: string; session: string; jwt: string }> {
  const email = `${name}@example.org`;
  const session = String(
    (await post('sign-up/email', { email, name, password: PASSWORD }).expect(200)).body.token,
  );
  const jwt = String((await withSession('/api/auth/token', session).expect(200)).body.token);
  return { email, session, jwt };
}

describe('admin user reset-password', () => {
  it('sets a password that signs in; the old one does not', async () => {
    const { email } = await signUp('forgetful');
    const { password, text } = await reset(email.toUpperCase());
    expect(text).toContain(`forgetful@example.org has the new password ${password}\n`);
    expect(text).toContain('Personal access tokens stay');
    await signIn(email, PASSWORD).expect(401);
    const { body } = await signIn(email, password).expect(200);
    const changed = post('change-password', { currentPassword: password, newPassword: PASSWORD });
    await changed.set('Authorization', `Bearer ${body.token}`).expect(200);
    await signIn(email, PASSWORD).expect(200);
  });

  it('ends every session of the user at once, with the one-time tokens made for them', async () => {
    const { email, session } = await signUp('ended');
    const other = await signUp('other');
    const handedOver = await withSession('/api/auth/one-time-token/generate', session).expect(200);
    const kept = await withSession('/api/auth/one-time-token/generate', other.session).expect(200);
    await signIn(email, PASSWORD).expect(200);
    expect(await reset(email)).toMatchObject({ sessions: 2 });

    expect((await withSession('/api/auth/get-session', session).expect(200)).body).toBeNull();
    await withSession('/api/auth/token', session).expect(401);
    const tokens = await service.database.query('SELECT FROM auth_verifications');
    expect(tokens).toHaveLength(1);
    await post('one-time-token/verify', { token: handedOver.body.token }).expect(400);
    await post('one-time-token/verify', { token: kept.body.token }).expect(200);
    await signIn(other.email, PASSWORD).expect(200);
  });

  it('fails a sign-in and a password change that are under way with the old password', async () => {
    const { email, session } = await signUp('raced');
    const { id } = (
      await service.database.query<{ id: string }>('SELECT id FROM users WHERE email = $1', [email])
    )[0]!;
    // The reset holds the user; the later requests have verified the password and wait for the reset.
    const held = await holdRow(service.database, 'auth_accounts', 'user_id', id);
    const wasReset = service.app.get(PasswordReset).run(id, 'the new password');
    await held.waiting(1);
    const signedIn = signIn(email, PASSWORD).then((answer) => answer);
    await held.waiting(2);
    const change = { currentPassword: PASSWORD, newPassword: 'the thief’s own', revokeOtherSessions: true };
    const changed = post('change-password', change)
      .set('Authorization', `Bearer ${session}`)
      .then((answer) => answer);
    await held.waiting(3);
    await held.release();

    expect(await wasReset).toBe(1);
    expect([(await signedIn).status, (await changed).status]).toEqual([401, 401]);
    expect(await service.database.query('SELECT FROM auth_sessions WHERE user_id = $1', [id])).toEqual([]);
    await signIn(email, PASSWORD).expect(401);
    await signIn(email, 'the thief’s own').expect(401);
    await signIn(email, 'the new password').expect(200);
  });

  it('does not return a session that was ended as soon as it had begun', async () => {
    const passwords = service.app.get(SignInPasswords, { strict: false });
    const request = {
      ip: '127.0.0.1',
      isSignIn: true,
      mayBeginSession: true,
      hashes: new Set(['a hash']),
      isWrong: false,
      gone: new AbortController().signal,
    };
    await identityRequests.run(request, async () => {
      const gone = { id: randomUUID(), userId: randomUUID() };
      await expect(passwords.check(gone)).rejects.toThrow('Invalid email or password');
    });
  });

  it('keeps personal access tokens', async () => {
    const { email, jwt } = await signUp('tokened');
    const minted = await supertest(service.url)
      .post('/api/v1/auth/tokens')
      .set('Authorization', `Bearer ${jwt}`)
      .send({ name: 'script' })
      .expect(201);
    await reset(email);
    await withSession('/api/v1/auth/me', String(minted.body.token)).expect(200);
  });

  it('gives a password to a user without one', async () => {
    const { email } = await service.newcomer('passwordless');
    const { password } = await reset(email);
    const { body } = await signIn(email, password).expect(200);
    expect(body.user.name).toBe('passwordless');
  });

  it('leaves one valid password when several resets run at once', async () => {
    const { id, email } = await service.newcomer('contested');
    const resets = service.app.get(PasswordReset);
    const passwords = ['the first of three', 'the second of three', 'the third of three'];
    await Promise.all(passwords.map((password) => resets.run(id, password)));
    const accounts = await service.database.query('SELECT FROM auth_accounts WHERE user_id = $1', [id]);
    expect(accounts).toHaveLength(1);
    const answers = await Promise.all(passwords.map((password) => signIn(email, password)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  it('exits with 1 for an unknown account, and prints one object with --json', async () => {
    const { email } = await signUp('printed');
    const command = (address: string): string[] => ['user', 'reset-password', address, '--json'];
    const unknown = await adminEnded(beside(), ...command('nobody@example.org'));
    const known = await runProcess(beside(), ADMIN, command(email));
    const sentence = 'there is no account for nobody@example.org';
    expect([unknown.code, unknown.stdout]).toEqual([1, `{"error":"${sentence}"}\n`]);
    expect(known.code).toBe(0);
    const { password, sessions } = JSON.parse(known.output) as { password: string; sessions: number };
    expect([password.length, sessions]).toEqual([20, 1]);
    await signIn(email, password).expect(200);
  });
});
