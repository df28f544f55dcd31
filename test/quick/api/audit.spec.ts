import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { type AuditEvent, AuditLog } from '../../../src/domain/auth/audit/index.js';
import { MAX_EVENTS } from '../../../src/domain/auth/audit/audit-log.js';
import { verificationHash } from '../../../crypto/src/index.js';
import { PASSWORD, type Person, personAt } from '../../kit/administrators.js';
import { TestVault } from '../../kit/automation.js';
import { BASE_URL, startService, type TestService, type TestUser } from '../../kit/index.js';
import { RECOVERY_SLOT } from '../../kit/key-slots.js';
import { textOf } from '../../kit/visitor.js';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const CLIENT = 'a client/1.0';

const eventsOf = ({ id }: Pick<Person, 'id'>): Promise<AuditEvent[]> =>
  service.app.get(AuditLog).ofUser(id, 100);

const byUser = (action: string, details = {}, userAgent: unknown = CLIENT): object =>
  expect.objectContaining({ action, actor: 'user', actorId: null, ip: '127.0.0.1', userAgent, details });

async function sessionOf(email: string): Promise<string> {
  const { body } = await supertest(service.url)
    .post('/api/auth/sign-in/email')
    .set('Origin', BASE_URL)
    .send({ email, password: PASSWORD })
    .expect(200);
  return body.token;
}

const withToken = (request: supertest.Test, token: string): supertest.Test =>
  request.set('Authorization', `Bearer ${token}`).set('User-Agent', CLIENT).set('Origin', BASE_URL);

async function jwtOf(person: Person): Promise<string> {
  const { body } = await withToken(
    supertest(service.url).get('/api/auth/token'),
    await sessionOf(person.email),
  ).expect(200);
  return body.token;
}

describe('the audit log of an account', () => {
  it('records access tokens that are created and revoked over the API', async () => {
    const person = await personAt(service, 'api-tokens');
    const jwt = await jwtOf(person);
    const tokens = supertest(service.url);
    const { body } = await withToken(tokens.post('/api/v1/auth/tokens'), jwt)
      .send({ name: 'robot', scopes: ['documents:read', 'assets:read'] })
      .expect(201);
    const revoke = (): supertest.Test => withToken(tokens.delete(`/api/v1/auth/tokens/${body.id}`), jwt);
    await revoke().expect(200);
    await revoke().expect(200);
    expect(await eventsOf(person)).toEqual([
      byUser('token.revoked', { name: 'robot' }),
      byUser('token.minted', { name: 'robot', scopes: 'documents:read assets:read' }),
    ]);
    expect(JSON.stringify(await eventsOf(person))).not.toContain(body.token);
  });

  it('does not record a refused request for a token', async () => {
    const person = await personAt(service, 'refused-token');
    const body = { name: 'past', expiresAt: '2001-01-01T00:00:00Z' };
    await withToken(supertest(service.url).post('/api/v1/auth/tokens'), await jwtOf(person))
      .send(body)
      .expect(400);
    expect(await eventsOf(person)).toEqual([]);
  });

  describe('on vaults', () => {
    const vaultOf = async (
      name: string,
    ): Promise<{ user: TestUser; vault: TestVault; own: Pick<Person, 'id'> }> => {
      const user = await service.user(name);
      const vault = await TestVault.setUp(await user.workspace('Diary'));
      return { user, vault, own: { id: user.id } };
    };
    const opened = (vault: TestVault, user?: TestUser): supertest.Test =>
      vault.openSession({ key: vault.masterKey.toString('base64') }, user).expect(201);
    const actionsOf = async (own: Pick<Person, 'id'>): Promise<unknown[]> =>
      (await eventsOf(own)).map(({ action, details }) => [action, details]);

    it('records a key session once an hour for each credential', async () => {
      const { user, vault, own } = await vaultOf('opens');
      const details = { workspace: 'Diary', workspaceId: vault.workspace.id };
      const bySession = ['key-session.opened', { ...details, sessionId: expect.any(String) }];
      await opened(vault);
      await opened(vault);
      expect(await actionsOf(own)).toEqual([bySession]);
      await opened(vault, await service.user('opens')); // another session
      expect(await actionsOf(own)).toEqual([bySession, bySession]);

      const { body } = await user.post('/api/v1/auth/tokens').send({ name: 'robot' }).expect(201);
      const robot = user.at(user.url, body.token);
      await opened(vault, robot);
      await opened(vault, robot);
      await vault.openSession({ key: Buffer.alloc(32).toString('base64') }).expect(403);
      expect(await actionsOf(own)).toEqual([
        ['key-session.opened', { ...details, tokenId: body.id }],
        ['token.minted', { name: 'robot', scopes: 'full' }],
        bySession,
        bySession,
      ]);

      service.clock.advance(60 * 60_000);
      try {
        await opened(vault, robot);
        expect((await eventsOf(own))[0]).toMatchObject({ action: 'key-session.opened', ip: '127.0.0.1' });
        expect(await eventsOf(own)).toHaveLength(5);
      } finally {
        service.clock.advance(-60 * 60_000);
      }
    });

    it('records writes of key slots, and the deletion of the workspace', async () => {
      const { user, vault, own } = await vaultOf('writes');
      const { workspace } = vault;
      const { body } = await user.get(`${workspace.path}/key-slots`).expect(200);
      const proof = { verificationHash: await verificationHash(vault.masterKey, body.verificationSalt) };
      const [first, second] = [randomUUID(), randomUUID()];
      const put = (id: string, proofs: object): supertest.Test =>
        user.put(`${workspace.path}/key-slots/${id}`).send({ ...RECOVERY_SLOT, ...proofs });
      await put(first, proof).expect(201);
      await put(first, { verificationHash: 'ab'.repeat(32) }).expect(403);
      await put(second, proof).expect(201);
      await user.delete(`${workspace.path}/key-slots/${first}`).send(proof).expect(200);
      await user.delete(workspace.path).expect(200);
      await user.delete(workspace.path).expect(404);
      const details = { workspace: 'Diary', workspaceId: workspace.id };
      const slot = { ...details, kind: 'recovery' };
      expect(await actionsOf(own)).toEqual([
        ['workspace.deleted', details],
        ['key-slot.removed', { ...slot, slotId: first }],
        ['key-slot.set', { ...slot, slotId: second }],
        ['key-slot.set', { ...slot, slotId: first }],
        ['key-session.opened', { ...details, sessionId: expect.any(String) }],
      ]);
    });

    it('shows the user these events in words', async () => {
      const person = await personAt(service, 'reads-vaults');
      const audit = service.app.get(AuditLog);
      for (const action of [
        'key-session.opened',
        'key-slot.set',
        'key-slot.removed',
        'workspace.deleted',
      ] as const) {
        const details = { workspace: 'Diary', kind: 'recovery' };
        await audit.record({ action, userId: person.id, actor: 'user', details });
      }
      const text = textOf((await person.browser.get('/account/activity')).text);
      for (const sentence of [
        'Workspace Diary opened for the Automation API',
        'Recovery key of workspace Diary set',
        'Recovery key of workspace Diary removed',
        'Workspace Diary deleted',
      ])
        expect(text).toContain(sentence);
    });
  });

  it('keeps the newest 10,000 events of an account', async () => {
    const { id } = await service.user('busy');
    await service.database.query(
      `INSERT INTO audit_events (at, user_id, action, actor)
       SELECT now(), $1, 'token.revoked', 'user' FROM generate_series(1, $2::int)`,
      [id, MAX_EVENTS + 5],
    );
    const other = await service.user('not-busy');
    const audit = service.app.get(AuditLog);
    await audit.record({ action: 'token.minted', userId: other.id, actor: 'user' });
    await audit.record({ action: 'token.minted', userId: id, actor: 'user' });
    const [counted] = await service.database.query<{ count: number; newest: string }>(
      `SELECT count(*)::int AS count, (array_agg(action ORDER BY id DESC))[1] AS newest FROM audit_events WHERE user_id = $1`,
      [id],
    );
    expect(counted).toEqual({ count: MAX_EVENTS, newest: 'token.minted' });
    expect(await audit.ofUser(other.id, 10)).toHaveLength(1);
  });

  it('locks no event that it keeps when it records another', async () => {
    const { id } = await service.user('keeper');
    const audit = service.app.get(AuditLog);
    for (let n = 0; n < 3; n++) await audit.record({ action: 'token.minted', userId: id, actor: 'user' });
    const [row] = await service.database.query(
      `SELECT count(*)::int AS kept, count(*) FILTER (WHERE xmax::text <> '0')::int AS locked
       FROM audit_events WHERE user_id = $1`,
      [id],
    );
    expect(row).toEqual({ kept: 3, locked: 0 });
  });

  it('records tokens and sign-outs from the account page', async () => {
    const person = await personAt(service, 'on-page');
    const { browser } = person;
    const fields = { name: 'paper', scopes: 'documents:read', workspace: '', expiry: '30' };
    await browser.submit(await browser.get('/account'), 'New token', fields);
    await browser.submit(await browser.get('/account'), 'Revoke paper');
    await browser.submit(await browser.get('/account'), 'Sign out everywhere else');
    expect(await eventsOf(person)).toEqual([
      byUser('sessions.ended', { sessions: 1 }, expect.any(String)),
      byUser('token.revoked', { name: 'paper' }, expect.any(String)),
      byUser('token.minted', { name: 'paper', scopes: 'documents:read' }, expect.any(String)),
    ]);
  });

  it('records sessions that are ended over the API', async () => {
    const person = await personAt(service, 'api-sessions');
    const [session, other] = [await sessionOf(person.email), await sessionOf(person.email)];
    const post = (path: string, token = session): supertest.Test =>
      withToken(supertest(service.url).post(`/api/auth/${path}`), token).send({});
    await post('revoke-session').send({ token: other }).expect(200);
    await post('revoke-other-sessions').expect(200);
    await post('revoke-other-sessions', 'no session').expect(401);
    expect(await eventsOf(person)).toEqual([
      byUser('sessions.ended', { sessions: 2 }),
      byUser('sessions.ended', { sessions: 1 }),
    ]);
  });

  it('records a password change that revokes access tokens as one event', async () => {
    const person = await personAt(service, 'changed');
    const jwt = await jwtOf(person);
    await withToken(supertest(service.url).post('/api/v1/auth/tokens'), jwt).send({ name: 'a' }).expect(201);
    const change = {
      currentPassword: PASSWORD,
      newPassword: 'another battery staple',
      revokeAccessTokens: true,
    };
    await withToken(supertest(service.url).post('/api/auth/change-password'), await sessionOf(person.email))
      .send(change)
      .expect(200);
    expect((await eventsOf(person))[0]).toEqual(byUser('password.changed', { revokedTokens: 1 }));
  });

  it('misses no change: a change whose event cannot be written is rolled back', async () => {
    const person = await personAt(service, 'rolled-back');
    await service.database.query(
      `ALTER TABLE audit_events ADD CONSTRAINT no_more CHECK (user_id <> '${person.id}')`,
    );
    try {
      const jwt = await jwtOf(person);
      await withToken(supertest(service.url).post('/api/v1/auth/tokens'), jwt)
        .send({ name: 'x' })
        .expect(500);
      const rows = await service.database.query('SELECT FROM access_tokens WHERE user_id = $1', [person.id]);
      expect(rows).toEqual([]);
    } finally {
      await service.database.query('ALTER TABLE audit_events DROP CONSTRAINT no_more');
    }
  });

  it('loses IP, client and details of earlier events when the account is deleted', async () => {
    const person = await personAt(service, 'leaver');
    const jwt = await jwtOf(person);
    await withToken(supertest(service.url).post('/api/v1/auth/tokens'), jwt).send({ name: 'a' }).expect(201);
    await withToken(supertest(service.url).delete('/api/v1/auth/me'), jwt)
      .send({ confirm: person.email })
      .expect(200);
    expect(await eventsOf(person)).toEqual([
      byUser('account.deleted'),
      expect.objectContaining({ action: 'token.minted', ip: null, userAgent: null, details: {} }),
    ]);
  });
});

describe('Activity on the account page', () => {
  it('shows the newest fifty events in words, and older ones on a page of their own', async () => {
    const person = await personAt(service, 'active');
    await service.database.query(
      `INSERT INTO audit_events (at, user_id, action, actor, ip, user_agent, details)
       SELECT '2026-03-04T05:06:07Z', $1, 'token.revoked', 'user', '192.0.2.1', 'Firefox/1.0 Linux',
              jsonb_build_object('name', 'token-' || n) FROM generate_series(1, 60) n`,
      [person.id],
    );
    const { browser } = person;
    const account = await browser.get('/account');
    expect(account.text.match(/Access token token-/g)).toHaveLength(50);
    expect(textOf(account.text)).toContain(
      'Access token token-60 revoked 4 Mar 2026, 05:06 UTC with Firefox on Linux from 192.0.2.1',
    );
    const [, older] = /href="(\/account\/activity\?before=\d+)"/.exec(account.text)!;
    const rest = await browser.get(older!);
    expect(rest.text.match(/Access token token-/g)).toHaveLength(10);
    expect(rest.text).not.toContain('Older activity');
    expect((await browser.get('/account/activity?before=1e3')).status).toBe(400);
  });

  it('shows neither the identity of an administrator nor events of other users', async () => {
    const [person, other] = [await personAt(service, 'watched'), await personAt(service, 'elsewhere')];
    const audit = service.app.get(AuditLog);
    const by = {
      actor: 'administrator',
      actorId: other.id,
      ip: '192.0.2.9',
      userAgent: 'Firefox/1',
    } as const;
    await audit.record({ action: 'account.resumed', userId: person.id, ...by });
    await audit.record({ action: 'account.suspended', userId: other.id, ...by });
    const { text } = await person.browser.get('/account/activity');
    expect(textOf(text)).toMatch(/Suspension ended .* UTC by an administrator of this service/);
    for (const secret of ['192.0.2.9', other.id, 'Firefox', 'Account suspended'])
      expect(text).not.toContain(secret);
  });

  it('redirects to /account without a session', async () => {
    const answer = await supertest(service.url).get('/account/activity').redirects(0);
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
  });
});
