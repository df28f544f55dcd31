import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { TestVault } from '../../kit/automation.js';
import { BASE_URL, startService, type TestService, type TestUser, TestWorkspace } from '../../kit/index.js';

const PASSWORD = 'correct horse battery staple';

let one: TestService;
let two: TestService;
beforeAll(async () => {
  one = await startService();
  two = await startService({ beside: one });
});
afterAll(async () => {
  await two.close();
  await one.close();
});

const query = <Row>(sql: string, values: unknown[]): Promise<Row[]> =>
  one.database.query<Row & Record<string, unknown>>(sql, values);

async function count(table: string, column: string, id: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table} WHERE ${column} = $1`,
    [id],
  );
  return row!.count;
}

/** Sends twenty requests at once, alternately to both instances. @returns the number of each status */
async function together(send: (url: string) => supertest.Test): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send([one, two][n % 2]!.url)));
  const statuses: Record<number, number> = {};
  for (const { status, body } of answers) {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 409) expect(body).toEqual({ error: expect.stringMatching(/at most .+: .+ first$/) });
  }
  return statuses;
}

const FIVE_MORE = { 201: 5, 409: 15 };

describe('a user with 995 workspaces', () => {
  it('can create five more by concurrent requests, and another when one is deleted', async () => {
    const alice = await one.user('owner');
    await query(
      `INSERT INTO workspaces (id, user_id, name, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'notes', now(), now() FROM generate_series(1, 995)`,
      [alice.id],
    );
    const create = (url: string): supertest.Test =>
      alice.at(url).post('/api/v1/workspaces').send({ name: 'one more' });
    expect(await together(create)).toEqual(FIVE_MORE);
    const { workspaces } = (await alice.get('/api/v1/workspaces').expect(200)).body;
    expect(workspaces).toHaveLength(1000);
    await (await one.user('another-owner')).workspace();

    await alice.delete(`/api/v1/workspaces/${workspaces[7].id}`).expect(200);
    await create(one.url).expect(201);
    await create(two.url).expect(409);
  });
});

describe('a user with 995 live access tokens', () => {
  const fill = (user: TestUser, number: number, revokedAt: Date | null, expiresAt: Date | null): unknown =>
    query(
      `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, created_at, expires_at, revoked_at)
       SELECT id, $1, 'cli', sha256(id::text::bytea), '{full}', now(), $3, $4
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $2::int)) ids`,
      [user.id, number, expiresAt, revokedAt],
    );
  const mint = (user: TestUser, url = one.url): supertest.Test =>
    user.at(url).post('/api/v1/auth/tokens').send({ name: 'one more' });

  it('can create five more by concurrent requests; revoked and expired ones do not count', async () => {
    const alice = await one.user('holder');
    const [past, ahead] = [-1, 1].map((days) => new Date(one.clock.now().getTime() + days * 86_400_000));
    await fill(alice, 900, null, null);
    await fill(alice, 95, null, ahead!);
    await fill(alice, 50, null, past!);
    await fill(alice, 50, past!, null);
    expect(await together((url) => mint(alice, url))).toEqual(FIVE_MORE);
    const { body } = await alice.get('/api/v1/auth/tokens').expect(200);
    const { tokens } = body as { tokens: { id: string; name: string }[] };
    expect(tokens).toHaveLength(1100);
    await mint(await one.user('another-holder')).expect(201);

    const live = tokens.find(({ name }) => name === 'one more')!;
    await alice.delete(`/api/v1/auth/tokens/${live.id}`).expect(200);
    await mint(alice).expect(201);
    await mint(alice, two.url).expect(409);
  });

  it('keeps only the 10,000 newest revoked ones', async () => {
    const alice = await one.user('revoker');
    await fill(alice, 10_050, new Date(), null);
    await fill(alice, 3, null, null);
    const newest = await query<{ id: string }>(
      'SELECT id FROM access_tokens WHERE user_id = $1 AND revoked_at IS NOT NULL ORDER BY id DESC LIMIT 10000',
      [alice.id],
    );
    await mint(alice).expect(201);
    const left = await query<{ id: string }>(
      'SELECT id FROM access_tokens WHERE user_id = $1 AND revoked_at IS NOT NULL ORDER BY id DESC',
      [alice.id],
    );
    expect(left).toEqual(newest);
    expect(await count('access_tokens', 'user_id', alice.id)).toBe(10_004);
  });
});

describe('a workspace with 9,995 checkpoints', () => {
  it('gets five more by concurrent requests, and no more through either API', async () => {
    const alice = await one.user('marker');
    const vault = await TestVault.setUp(await alice.workspace());
    const { id, path } = vault.workspace;
    await query(
      `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
       SELECT $1, gen_random_uuid(), 'abcd', 'auto', 0, now() FROM generate_series(1, 9995)`,
      [id],
    );
    const create = (url: string): supertest.Test =>
      alice.at(url).post(`${path}/checkpoints`).send({ encryptedLabel: 'abcd', kind: 'manual' });
    expect(await together(create)).toEqual(FIVE_MORE);
    expect(await count('checkpoints', 'workspace_id', id)).toBe(10_000);
    const mark = (): supertest.Test => vault.request('post', '/checkpoints').send({ label: 'now' });
    expect((await mark().expect(409)).body).toEqual({ error: expect.stringContaining('10000 checkpoints') });

    const [first] = (await alice.get(`${path}/checkpoints`).expect(200)).body.checkpoints;
    await alice.delete(`${path}/checkpoints/${first.id}`).expect(200);
    await mark().expect(201);
    await create(two.url).expect(409);
  });
});

describe('a user with 200 sessions', () => {
  const auth = (url: string, path: string): supertest.Test =>
    supertest(url).post(`/api/auth/${path}`).set('Origin', BASE_URL);
  const stateOf = (token: string): supertest.Test =>
    supertest(two.url).get('/api/auth/get-session').set('Authorization', `Bearer ${token}`);

  /** Signs up a user and adds sessions, the n-th of which was renewed n minutes ago. */
  async function withSessions(
    name: string,
    number: number,
  ): Promise<{ id: string; email: string; token: string }> {
    const email = `${name}@example.org`;
    const { body } = await auth(one.url, 'sign-up/email')
      .send({ email, name, password: PASSWORD })
      .expect(200);
    await query(
      `INSERT INTO auth_sessions (user_id, token, expires_at, created_at, updated_at)
       SELECT $1, $2 || '-' || n, now() + interval '1 day', now() - n * interval '1 minute', now() - n * interval '1 minute'
       FROM generate_series(1, $3::int) n`,
      [body.user.id, name, number],
    );
    return { id: body.user.id, email, token: body.token };
  }
  const tokensOf = async (id: string): Promise<string[]> =>
    (await query<{ token: string }>('SELECT token FROM auth_sessions WHERE user_id = $1', [id])).map(
      ({ token }) => token,
    );

  it('loses the oldest with its one-time tokens when another begins, and keeps all others', async () => {
    const { id, email, token } = await withSessions('busy', 199);
    for (const n of [198, 199])
      await query(
        `INSERT INTO auth_verifications (identifier, value, expires_at)
         VALUES ('one-time-token:' || $1, 'busy-' || $1, now() + interval '3 minutes')`,
        [n],
      );
    const before = await tokensOf(id);
    const { body } = await auth(two.url, 'sign-in/email').send({ email, password: PASSWORD }).expect(200);
    const after = await tokensOf(id);
    expect(after.sort()).toEqual([...before.filter((each) => each !== 'busy-199'), body.token].sort());
    const left = await query("SELECT value FROM auth_verifications WHERE value LIKE 'busy-%'", []);
    expect(left).toEqual([{ value: 'busy-198' }]);
    for (const live of [token, body.token])
      expect((await stateOf(live)).body).toMatchObject({ user: { id } });
  });

  it('still has 200, including the new ones, when several begin at once on two instances', async () => {
    const { id, email } = await withSessions('busier', 199);
    const signIn = (n: number): supertest.Test =>
      auth([one, two][n % 2]!.url, 'sign-in/email')
        .send({ email, password: PASSWORD })
        .expect(200);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => signIn(n)));
    const tokens = await tokensOf(id);
    expect(tokens).toHaveLength(200);
    expect(tokens).toEqual(expect.arrayContaining(answers.map(({ body }) => body.token)));
    expect(tokens).not.toContain('busier-192');
    expect(tokens).toContain('busier-191');
  });

  it('loses expired ones before any other, and is reduced to 200 when there are more', async () => {
    const { id, email } = await withSessions('crowded', 300);
    await query(
      `UPDATE auth_sessions SET expires_at = now() - interval '1 second' WHERE token IN ('crowded-1', 'crowded-2')`,
      [],
    );
    await auth(one.url, 'sign-in/email').send({ email, password: PASSWORD }).expect(200);
    const tokens = await tokensOf(id);
    expect(tokens).toHaveLength(200);
    for (const gone of ['crowded-1', 'crowded-2', 'crowded-201']) expect(tokens).not.toContain(gone);
    expect(tokens).toContain('crowded-200');
  });

  it('can list all of them, and end all others at once', async () => {
    const { id, token } = await withSessions('owner-of-many', 199);
    const asOwner = (test: supertest.Test): supertest.Test => test.set('Authorization', `Bearer ${token}`);
    const list = asOwner(supertest(one.url).get('/api/auth/list-sessions').set('Origin', BASE_URL));
    expect((await list.expect(200)).body).toHaveLength(200);
    await asOwner(auth(one.url, 'revoke-other-sessions')).expect(200);
    expect(await tokensOf(id)).toEqual([token]);
  });

  it('keeps the hundred newest one-time tokens of a session', async () => {
    const { token } = await withSessions('minter', 0);
    await query(
      `INSERT INTO auth_verifications (identifier, value, expires_at, created_at)
       SELECT 'one-time-token:of-minter-' || n, $1, now() + interval '3 minutes', now() - n * interval '1 second'
       FROM generate_series(1, 150) n`,
      [token],
    );
    await query(
      `INSERT INTO auth_verifications (identifier, value, expires_at, created_at) VALUES ('other', $1, now(), '2020-01-01')`,
      [token],
    );
    const generated = await supertest(two.url)
      .get('/api/auth/one-time-token/generate')
      .set('Authorization', `Bearer ${token}`)
      .expect(200);
    const left = await query<{ identifier: string }>(
      'SELECT identifier FROM auth_verifications WHERE value = $1 ORDER BY created_at DESC',
      [token],
    );
    expect(left).toHaveLength(101);
    expect(left[99]).toEqual({ identifier: 'one-time-token:of-minter-99' });
    expect(left[100]).toEqual({ identifier: 'other' });
    await auth(one.url, 'one-time-token/verify').send({ token: generated.body.token }).expect(200);
  });
});

describe('a user with 1,000 key sessions', () => {
  it('loses the least recently used one when another begins', async () => {
    const alice = await one.user('key-holder');
    const vault = await TestVault.setUp(await alice.workspace());
    await query(
      `INSERT INTO key_sessions (id, token_hash, user_id, workspace_id, wrapped_key, created_at, last_used_at)
       SELECT gen_random_uuid(), sha256(random()::text::bytea), user_id, workspace_id, wrapped_key,
              created_at, last_used_at + n * interval '1 second'
       FROM key_sessions, generate_series(1, 999) n WHERE user_id = $1`,
      [alice.id],
    );
    await vault.read('nothing').expect(404);
    const fresh = await vault.withNewSession();
    expect(await count('key_sessions', 'user_id', alice.id)).toBe(1000);
    await vault.read('nothing').expect(401);
    await fresh.read('nothing').expect(404);
  });
});

describe('a user with 1,000 push subscriptions', () => {
  it('loses the least recently renewed one, in any workspace, when another is added', async () => {
    const alice = await one.user('subscriber');
    const many = await Promise.all(Array.from({ length: 10 }, () => alice.workspace()));
    const last = await alice.workspace();
    await query(
      `INSERT INTO push_subscriptions (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
       SELECT id, 'device-' || n, 'https://push.example.org/', repeat('A', 87), repeat('A', 22),
              now() - (n * 10 + place) * interval '1 minute'
       FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, place), generate_series(1, 100) n`,
      [many.map(({ id }) => id)],
    );
    const subscribe = (url: string, { id }: TestWorkspace, deviceId: string): supertest.Test =>
      alice
        .at(url)
        .post('/api/v1/devices/push-subscription')
        .send({
          ...{ workspaceId: id, deviceId, endpoint: 'https://push.example.org/x' },
          keys: {
            p256dh: Buffer.alloc(65, 4).toString('base64url'),
            auth: Buffer.alloc(16).toString('base64url'),
          },
        })
        .expect(201);
    await Promise.all([one, two, one, two].map(({ url }) => subscribe(url, last, randomUUID())));
    await subscribe(one.url, many[0]!, 'device-1');
    const rows = await query<{ workspaceId: string; deviceId: string }>(
      `SELECT s.workspace_id AS "workspaceId", device_id AS "deviceId" FROM push_subscriptions s
       JOIN workspaces w ON w.id = s.workspace_id WHERE w.user_id = $1`,
      [alice.id],
    );
    expect(rows).toHaveLength(1000);
    expect(rows.filter(({ workspaceId }) => workspaceId === last.id)).toHaveLength(4);
    const gone = many.slice(6).map(({ id }) => ({ workspaceId: id, deviceId: 'device-100' }));
    for (const each of gone) expect(rows).not.toContainEqual(each);
  });
});
