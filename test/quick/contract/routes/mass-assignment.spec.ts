import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { WorkspacePurge } from '../../../../src/domain/workspaces/index.js';
import { BASE_URL } from '../../../kit/index.js';
import { bearerHeader } from '../../../kit/routes/credentials.js';
import { pathTo } from '../../../kit/routes/forms.js';
import { type Example, nameOf, type Route, ROUTES } from '../../../kit/routes/route-table.js';
import { type Scene, setScene, targetFor } from '../../../kit/routes/scene.js';
import { hangUp, send } from '../../../kit/routes/send.js';

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(async () => {
  hangUp();
  await scene.service.close();
});

/** Values that occur nowhere else, so that every table can be searched for them. */
const MARKS = {
  id: 'aaaaaaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa',
  time: '2001-02-03T04:05:06.789Z',
  number: 987_654_321,
  text: 'smuggled-in',
};

/** Members that no request may set, in the casing of the contract, of the tables and of the code. */
function smuggled(): Record<string, unknown> {
  const { id, time, number, text } = MARKS;
  const victim = scene.owner.user.id;
  return {
    ...{ id, user_id: victim, userId: victim, owner_id: victim, ownerId: victim, sub: victim },
    ...{ workspace_id: scene.owner.target.workspaceId, file_id: id, fileId: id, blob_id: id, tokenId: id },
    ...{
      created_at: time,
      createdAt: time,
      updated_at: time,
      updatedAt: time,
      deleted_at: time,
      deletedAt: time,
    },
    ...{ revoked_at: time, revokedAt: time, expires_at: time, last_used_at: time, lastUsedAt: time },
    ...{ trial_end: time, trialEndDate: time, current_period_end: time, currentPeriodEnd: time },
    ...{
      version: number,
      compaction_floor: number,
      compactionFloor: number,
      head_cursor: number,
      live_files: number,
    },
    ...{ change_cursor: number, changeCursor: number, encrypted_size: number, not_before: time },
    ...{
      scopes: ['agent:invoke'],
      role: text,
      plan: text,
      status: text,
      token: text,
      token_hash: text,
      state: text,
    },
    ...{
      email_verified: true,
      emailVerified: true,
      is_deleted: 1,
      isDeleted: true,
      locked: true,
      image: text,
    },
  };
}

/** Members of these that a route does accept. */
const OFFERED: Readonly<Record<string, readonly string[]>> = { 'POST /api/v1/auth/tokens': ['scopes'] };

function withSmuggled(route: Route, example: Example): Example {
  if (Buffer.isBuffer(example.body)) return example; // a sequence: tested in api/batches
  const own = typeof example.body === 'object' ? example.body : {};
  const offered = OFFERED[nameOf(route)] ?? [];
  const extra = Object.entries(smuggled()).filter(([key]) => !offered.includes(key));
  return { ...example, body: { ...Object.fromEntries(extra), ...own } };
}

async function everyTable(): Promise<string[]> {
  const tables = await scene.service.database.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  return tables.map(({ name }) => name);
}

/** Rows that hold one of the marks, or a mark turned into the database's own notation. */
async function marked(): Promise<unknown[]> {
  const { id, number, text } = MARKS;
  const searches = (await everyTable()).map(
    (table) =>
      `SELECT '${table}' AS "table", to_jsonb(t) AS row FROM ${table} t WHERE to_jsonb(t)::text ~ $1`,
  );
  const pattern = [id, '2001-02-03', number, text].join('|');
  return scene.service.database.query(searches.join(' UNION ALL '), [pattern]);
}

/** All rows that contain the id of the victim. */
async function ofVictim(): Promise<unknown[]> {
  const searches = (await everyTable()).map(
    (table) =>
      `SELECT '${table}' AS "table", to_jsonb(t) AS row FROM ${table} t WHERE strpos(to_jsonb(t)::text, $1) > 0`,
  );
  return scene.service.database.query(`${searches.join(' UNION ALL ')} ORDER BY 1, 2`, [scene.owner.user.id]);
}

async function expectNothingSmuggled(request: () => Promise<void>): Promise<void> {
  const before = await ofVictim();
  await request();
  await scene.service.app.get(WorkspacePurge).idle();
  expect(await marked()).toEqual([]);
  expect(await ofVictim()).toEqual(before);
}

/** Routes that refuse unknown members. */
const STRICT: readonly string[] = [
  'POST /api/v1/auth/tokens',
  'DELETE /api/v1/workspaces/:id/key-slots/:slotId',
];

const shapeOf = (body: string): string[] =>
  body.startsWith('{') ? Object.keys(JSON.parse(body) as object).sort() : [];

describe('unknown keys in a body change nothing', () => {
  const routes = ROUTES.filter(
    ({ method, isPage }) => !isPage && ['POST', 'PATCH', 'DELETE'].includes(method),
  );

  it.each(routes)('at $method $path', async (route) => {
    const { service, stranger } = scene;
    const ask = async (change: (example: Example) => Example): Promise<{ status: number; body: string }> => {
      const target = await targetFor(service, stranger, route.uses);
      const example = route.example?.(target) ?? {};
      const spelling = { method: route.method, path: pathTo(route, example, target) };
      return send(service.url, spelling, change(example), bearerHeader(stranger.user.token));
    };
    await expectNothingSmuggled(async () => {
      const plain = await ask((example) => example);
      const laden = await ask((example) => withSmuggled(route, example));
      if (STRICT.includes(nameOf(route))) {
        expect([laden.status, JSON.parse(laden.body)]).toEqual([400, { error: 'unknown member "id"' }]);
        return;
      }
      expect({ status: laden.status, keys: shapeOf(laden.body) }).toEqual({
        status: route.status ?? 200,
        keys: shapeOf(plain.body),
      });
      expect(laden.body).not.toMatch(new RegExp(Object.values(MARKS).join('|')));
      expect(laden.body).not.toContain(scene.owner.user.id);
    });
  });
});

describe('unknown parameters in a query change nothing', () => {
  // An export contains the record of itself, so no two are equal.
  const routes = ROUTES.filter(
    ({ method, isPage, path }) => !isPage && method === 'GET' && !path.endsWith('/export'),
  );

  it.each(routes)('at $method $path', async (route) => {
    const { service, stranger, owner } = scene;
    const example = route.example?.(stranger.target) ?? {};
    const spelling = { method: 'GET', path: pathTo(route, example, stranger.target) };
    const extra = `user_id=${owner.user.id}&userId=${owner.user.id}&id=${owner.target.workspaceId}&scopes=full&role=admin`;
    const query = [example.query, extra].filter(Boolean).join('&');
    const proof = bearerHeader(stranger.user.token);
    const plain = await send(service.url, spelling, example, proof);
    const laden = await send(service.url, spelling, { ...example, query }, proof);
    expect({ status: laden.status, body: laden.body }).toEqual({ status: plain.status, body: plain.body });
  });
});

describe('the identity handler', () => {
  const PASSWORD = 'correct horse battery staple';

  interface Account {
    readonly id: string;
    readonly email: string;
    readonly cookie: string;
  }

  const post = (action: string, body: object): supertest.Test =>
    supertest(scene.service.url).post(`/api/auth/${action}`).set('Origin', BASE_URL).send(body);

  async function account(): Promise<Account> {
    const email = `${randomUUID()}@example.org`;
    const answer = await post('sign-up/email', { email, name: 'Attacker', password: PASSWORD }).expect(200);
    const cookie = (answer.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
    return { id: answer.body.user.id, email, cookie };
  }

  const userRow = (id: string): Promise<Record<string, unknown>[]> =>
    scene.service.database.query('SELECT id, email, email_verified, created_at FROM users WHERE id = $1', [
      id,
    ]);

  /** The identity handler accepts a picture. */
  const extra = (): Record<string, unknown> => ({ ...smuggled(), image: undefined });

  it('creates an account with an id, times and a state that it chooses itself', async () => {
    const email = 'signed-up@example.org';
    await expectNothingSmuggled(async () => {
      await post('sign-up/email', { ...extra(), email, name: 'Signed up', password: PASSWORD }).expect(200);
    });
    const users = await scene.service.database.query('SELECT email_verified FROM users WHERE email = $1', [
      email,
    ]);
    expect(users).toEqual([{ email_verified: false }]);
  });

  it.each([
    ['update-user', { name: 'Renamed' }, 400],
    ['update-user', { name: 'Renamed', email: 'other@example.org' }, 400],
    ['change-password', { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` }, 400],
    ['revoke-other-sessions', {}, 200],
    ['revoke-session', {}, 200],
    ['one-time-token/verify', {}, 400],
    ['sign-in/email', {}, 400],
    ['sign-out', {}, 200],
  ])('%s sets none of the keys that no request may set: %j', async (action, body, status) => {
    const attacker = await account();
    const before = await userRow(attacker.id);
    await expectNothingSmuggled(async () => {
      await post(action, { ...extra(), ...body })
        .set('Cookie', attacker.cookie)
        .expect(status);
    });
    expect(await userRow(attacker.id)).toEqual(before);
  });
});
