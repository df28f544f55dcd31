import { decodeJwt } from 'jose';
import supertest from 'supertest';
import { EndedSessions, PasswordChange, UserSessions } from '../../../src/domain/auth/index.js';
import { begunRequest } from '../../kit/begun-request.js';
import { heldOpen, holdTable } from '../../kit/hold.js';
import {
  BASE_URL,
  eventually,
  startService,
  type TestService,
  TestSocket,
  TestUser,
} from '../../kit/index.js';
import { waitPatiently } from '../../kit/patient-locks.js';
import { rounds } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';
const TOKENS = '/api/v1/auth/tokens';
const ENDED = { error: 'the session has ended' };
const BY_USER = { actor: 'user' } as const;
const TRIALS = rounds(2, 24);
const ENV = { RATE_LIMIT_PER_MINUTE: '0', SUBSCRIPTIONS: 'off' };

let service: TestService;
let other: TestService;
beforeAll(async () => {
  service = await startService({ env: ENV });
  other = await startService({ env: ENV, beside: service });
});
afterAll(async () => {
  await other.close();
  await service.close();
});

const sessionOf = ({ token }: TestUser): string => String(decodeJwt(token)['sid']);

const end = (user: TestUser, at = service): Promise<void> =>
  at.app.get(UserSessions).end(user.id, sessionOf(user), BY_USER);

const learn = ({ app }: TestService): Promise<void> => app.get(EndedSessions).look();

describe('a session that has ended', () => {
  it('ends its JWT on every instance, and closes its sockets there', async () => {
    const user = await service.newcomer('ended');
    const socket = await TestSocket.join(await user.at(other.url).workspace(), 'laptop');
    await end(user);
    await learn(other);
    const { body } = await user.at(other.url).get('/api/v1/workspaces').expect(401);
    expect(body).toEqual(ENDED);
    expect(await socket.closed()).toBe(4401);
  });

  it('becomes known to other instances by itself', async () => {
    const user = await service.newcomer('ended-unnoticed');
    const there = user.at(other.url);
    const socket = await TestSocket.join(await there.workspace(), 'laptop');
    await end(user);
    await eventually(() => there.get('/api/v1/workspaces').expect(401, ENDED));
    expect(await socket.closed()).toBe(4401);
  });

  it('opens no socket that was being admitted when it ended', async () => {
    const user = await service.newcomer('ended-while-admitted');
    const workspace = await user.workspace();
    await waitPatiently(other);
    const held = await holdTable(service.database, 'workspaces');
    const opened = TestSocket.open(other.url, workspace.id, user.token);
    const refused = expect(opened).rejects.toThrow('401');
    await held.waiting(1);
    await end(user);
    await learn(other);
    await held.release();
    await refused;
  });

  it('is known to an instance that starts later', async () => {
    const user = await service.newcomer('ended-before-a-start');
    await end(user);
    const later = await startService({ beside: service });
    await user.at(later.url).get('/api/v1/workspaces').expect(401, ENDED);
    await later.close();
  });

  it('creates no access token, even on an instance that has not learned of its end', async () => {
    const user = await service.newcomer('minter');
    await end(user);
    await user.at(other.url).post(TOKENS).send({ name: 'backdoor' }).expect(401, ENDED);
  });

  it('creates no access token by a request whose body arrives after its end', async () => {
    const user = await service.newcomer('minter-in-mid-body');
    const request = user.at(other.url).post(TOKENS).type('json');
    const finish = await begunRequest(other, request, JSON.stringify({ name: 'backdoor' }));
    await end(user);
    expect((await finish()).body).toEqual(ENDED);
    const tokens = 'SELECT FROM access_tokens WHERE user_id = $1';
    expect(await service.database.query(tokens, [user.id])).toEqual([]);
  });

  it('creates no access token while the transaction that ends it is open', async () => {
    const user = await service.newcomer('minter-meanwhile');
    const deletion = 'DELETE FROM auth_sessions WHERE id = $1';
    const commit = await heldOpen(service.database, deletion, [sessionOf(user)]);
    const minted = user
      .at(other.url)
      .post(TOKENS)
      .send({ name: 'backdoor' })
      .then(({ body }) => body as unknown);
    await service.database.eventually(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM "auth_sessions"%'`,
    );
    await commit();
    expect(await minted).toEqual(ENDED);
    const tokens = 'SELECT FROM access_tokens WHERE user_id = $1';
    expect(await service.database.query(tokens, [user.id])).toEqual([]);
  });

  it('becomes known even when transactions that end sessions commit in another order', async () => {
    const [slow, quick] = [await service.newcomer('slow'), await service.newcomer('quick')];
    const isKnown = (user: TestUser): boolean => other.app.get(EndedSessions).has(sessionOf(user));
    // Older than the rows that are read again in any case.
    const commit = await heldOpen(
      service.database,
      `DELETE FROM auth_sessions WHERE id = '${sessionOf(slow)}';
       UPDATE ended_sessions SET ended_at = now() - interval '1 minute' WHERE session_id = '${sessionOf(slow)}'`,
      [],
    );
    await end(quick);
    await learn(other);
    expect([isKnown(slow), isKnown(quick)]).toEqual([false, true]);
    await commit();
    await learn(other);
    expect(isKnown(slow)).toBe(true);
  });

  it('leaves no access token that was created while the password changed', async () => {
    for (let trial = 0; trial < TRIALS; trial++) {
      const email = `racer-${trial}@example.org`;
      const identity = (action: string): supertest.Test =>
        supertest(service.url).post(`/api/auth/${action}`).set('Origin', BASE_URL);
      const { body } = await identity('sign-up/email')
        .send({ email, name: 'Racer', password: PASSWORD })
        .expect(200);
      const thief = await TestUser.logIn(service.url, 'thief', email);
      const mints = [service, other, service, other].map(({ url }) =>
        thief.at(url).post(TOKENS).send({ name: 'backdoor' }),
      );
      const { body: who } = await supertest(service.url)
        .get('/api/auth/get-session')
        .set('Authorization', `Bearer ${body.token}`)
        .expect(200);
      const changed = service.app.get(PasswordChange, { strict: false }).run({
        user: { id: thief.id, email },
        sessionId: who.session.id,
        currentPassword: PASSWORD,
        newPassword: `${PASSWORD}!`,
        ip: '127.0.0.1',
        userAgent: '',
        newSessionToken: null,
        revokesAccessTokens: true,
      });
      const statuses = (await Promise.all(mints)).map(({ status }) => status);
      expect(await changed).toBeUndefined();
      expect(statuses.filter((status) => status !== 201 && status !== 401)).toEqual([]);
      const live = 'SELECT FROM access_tokens WHERE user_id = $1 AND revoked_at IS NULL';
      expect(await service.database.query(live, [thief.id])).toEqual([]);
    }
  });
});
