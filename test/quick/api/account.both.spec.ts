import { createECDH, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import supertest from 'supertest';
import { AccountDeletion, CancellationOutbox } from '../../../src/domain/accounts/account-deletion.js';
import { NightlyJobs } from '../../../src/platform/jobs/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { assetToken, TestAssets } from '../../kit/assets.js';
import { checksums } from '../../kit/checksums.js';
import {
  BASE_URL,
  eventually,
  startService,
  type TestService,
  TestSocket,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const ME = '/api/v1/auth/me';
const PASSWORD = 'correct horse battery staple';
const STRIPE_KEY = 'sk_test_of_the_account_tests';

const provider: { asked: string[]; status: number; body?: string | undefined; server?: Server } = {
  asked: [],
  status: 200,
};

let first: TestService;
let second: TestService;
beforeAll(async () => {
  const { url } = await startProvider();
  const env = { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_API_BASE: url };
  first = await startService({ env });
  second = await startService({ beside: first, env });
});
afterAll(async () => {
  await second.close();
  await first.close();
  provider.server!.close();
});
beforeEach(() => {
  provider.asked.length = 0;
  provider.status = 200;
  provider.body = undefined;
});

/** A user with a password, a session, a JWT of that session, and data of every kind. */
interface Inhabitant {
  readonly user: TestUser;
  readonly session: string;
  readonly pats: string[];
  readonly workspaces: TestWorkspace[];
}

function auth(method: 'get' | 'post', path: string): supertest.Test {
  return supertest(first.url)[method](`/api/auth/${path}`).set('Origin', BASE_URL);
}

async function signUp(name: string): Promise<{ user: TestUser; session: string }> {
  const email = `${name}@example.org`;
  const { body } = await auth('post', 'sign-up/email').send({ email, name, password: PASSWORD }).expect(200);
  const session = String(body.token);
  const jwt = await auth('get', 'token').set('Authorization', `Bearer ${session}`).expect(200);
  const user = (await TestUser.logIn(first.url, name, email)).at(first.url, jwt.body.token);
  expect(user.id).toBe(body.user.id);
  return { user, session };
}

async function settleIn(name: string): Promise<Inhabitant> {
  const { user, session } = await signUp(name);
  await user.post('/api/v1/subscription/trial').expect(200);
  const workspaces = [await user.workspace('one'), await user.workspace('two')];
  for (const workspace of workspaces) {
    await workspace.put('small', 'content').expect(201);
    await workspace.put('large', Buffer.alloc(100_000, name)).expect(201);
    await workspace.checkpoint();
    await TestAssets.of(workspace).create(assetToken()).expect(201);
  }
  const { body: device } = await user
    .post('/api/v1/devices')
    .send({ name: 'Phone', platform: 'ios' })
    .expect(201);
  const keys = {
    p256dh: createECDH('prime256v1').generateKeys('base64url'),
    auth: Buffer.alloc(16).toString('base64url'),
  };
  await user
    .post('/api/v1/devices/push-subscription')
    .send({
      workspaceId: workspaces[0]!.id,
      deviceId: device.id,
      endpoint: 'https://push.example.org/x',
      keys,
    })
    .expect(201);
  const pats: string[] = [];
  for (const workspaceId of [null, workspaces[0]!.id]) {
    const { body } = await user.post('/api/v1/auth/tokens').send({ name: 'pat', workspaceId }).expect(201);
    pats.push(body.token);
  }
  return { user, session, pats, workspaces };
}

const remove = (user: TestUser, confirm: unknown = user.email): supertest.Test =>
  user.delete(ME).send({ confirm });

/** Rows of any table that contain one of these words. */
async function rowsWith(words: string[]): Promise<unknown[]> {
  const tables = await first.database.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const searches = tables.map(
    ({ name }) =>
      // Audit events keep the id of a deleted account.
      `SELECT '${name}' AS "table", to_jsonb(t) AS row FROM ${name} t
       WHERE (to_jsonb(t) - '${name === 'audit_events' ? 'user_id' : ''}')::text ~ $1`,
  );
  return first.database.query(searches.join(' UNION ALL '), [words.join('|')]);
}

const wordsOf = ({ user, session, workspaces }: Inhabitant): string[] => [
  ...[user.id, user.email, session],
  ...workspaces.map(({ id }) => id),
];

describe(`DELETE ${ME}`, () => {
  it.each([
    ['another address', 'somebody@example.org'],
    ['an empty string', ''],
    ['a number', 7],
    ['a list', ['confirms@example.org']],
  ])('answers 400 to %s, and changes nothing', async (_, confirm) => {
    const user = await first.user('confirms');
    await user.workspace();
    const before = await checksums(first.database);
    await remove(user, confirm).expect(400, { error: 'confirm must be the email address of the account' });
    expect(await checksums(first.database)).toEqual(before);
  });

  it('answers 400 without a body and without confirm', async () => {
    const user = await first.user('says-nothing');
    await user.delete(ME).expect(400);
    await user.delete(ME).send({}).expect(400);
    await user.get(ME).expect(200);
  });

  it('accepts the address in capitals, with spaces around it', async () => {
    const user = await first.user('shouts');
    await remove(user, ' SHOUTS@example.org ').expect(200, { ok: true });
  });

  it('needs an interactive session: a personal access token gets 403, and changes nothing', async () => {
    await first.app.get(WorkspacePurge).idle();
    const user = await first.user('by-pat');
    const { body } = await user.post('/api/v1/auth/tokens').send({ name: 'full' }).expect(201);
    const before = await checksums(first.database);
    await remove(user.at(first.url, body.token)).expect(403);
    expect(await checksums(first.database)).toEqual(before);
  });

  it('ends every token and the password at once, on every instance', async () => {
    const leaver = await settleIn('leaver');
    const { user, session, pats } = leaver;
    await remove(user).expect(200, { ok: true });

    for (const { url } of [first, second]) {
      for (const token of [user.token, ...pats]) {
        await user.at(url, token).get('/api/v1/workspaces').expect(401);
      }
      await user.at(url).get(ME).expect(404, { error: 'user not found' });
      await remove(user.at(url)).expect(401);
    }
    await auth('post', 'sign-in/email').send({ email: user.email, password: PASSWORD }).expect(401);
    await auth('get', 'token').set('Authorization', `Bearer ${session}`).expect(401);
    const answer = await auth('get', 'get-session').set('Authorization', `Bearer ${session}`).expect(200);
    expect(answer.body).toBeNull();
  });

  it('removes every row and byte of the account, and nothing of other accounts', async () => {
    const stayer = await settleIn('stayer');
    const before = await rowsWith(wordsOf(stayer));
    const leaver = await settleIn('leaves-nothing');
    await remove(leaver.user).expect(200);
    await first.app.get(WorkspacePurge).idle();
    expect(await rowsWith(wordsOf(leaver))).toEqual([]);
    expect(await rowsWith(wordsOf(stayer))).toEqual(before);
    await stayer.workspaces[0]!.get('large').expect(200);
    const usage = await TestAssets.of(stayer.workspaces[0]!).request('get', '/usage').expect(200);
    expect(usage.body.usedBytes).toBe(122);
  });

  it('closes live sockets, on the other instance too', async () => {
    const { user, pats, workspaces } = await settleIn('connected');
    const byJwt = await TestSocket.join(workspaces[0]!, 'laptop');
    const byPat = await TestSocket.join(workspaces[1]!.as(user.at(second.url, pats[0])), 'phone');
    await remove(user).expect(200);
    await eventually(() => expect([4401, 4404]).toContain(byJwt.closeCode));
    await eventually(() => expect([4401, 4404]).toContain(byPat.closeCode));
  });

  it('frees the address: a later sign-up with it creates a new, empty account', async () => {
    const { user } = await settleIn('returns');
    await remove(user).expect(200);
    const { user: again } = await signUp('returns');
    expect(again.id).not.toBe(user.id);
    await again.get('/api/v1/workspaces').expect(200, { workspaces: [] });
    await again.get('/api/v1/auth/tokens').expect(200, { tokens: [] });
    expect((await again.get('/api/v1/subscription').expect(200)).body.status).toBe('free');
  });

  it('succeeds for one of many requests at the same time, and answers 401 to the others', async () => {
    const { user } = await settleIn('hurries');
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) => remove(user.at([first, second][i % 2]!.url))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(15).fill(401)]);
  });

  itDeep('leaves nothing of the user behind when other requests of the user are in flight', async () => {
    for (let round = 0; round < 5; round++) {
      const leaver = await settleIn(`works-on-${round}`);
      const { user, workspaces, session } = leaver;
      const there = user.at(second.url);
      const work = Array.from({ length: 24 }, (_, i) =>
        [
          () => there.post('/api/v1/workspaces').send({ name: 'late' }),
          () => workspaces[i % 2]!.put(`late-${i}`, 'late'),
          () => workspaces[i % 2]!.as(there).put(`large-${i}`, Buffer.alloc(70_000, i)),
          () => there.post('/api/v1/auth/tokens').send({ name: 'late' }),
          () => there.post('/api/v1/devices').send({ name: 'Late', platform: 'x' }),
          () => TestAssets.of(workspaces[i % 2]!).create(assetToken()),
          () => auth('post', 'sign-in/email').send({ email: user.email, password: PASSWORD }),
          () => auth('get', 'one-time-token/generate').set('Authorization', `Bearer ${session}`),
        ][i % 8]!(),
      );
      const [deleted, ...answers] = await Promise.all([remove(user), ...work]);
      expect(deleted.status).toBe(200);
      const faults = answers.filter(({ status }) => status >= 500);
      expect(faults.map(({ status, request }) => `${status} ${request.method} ${request.url}`)).toEqual([]);
      await first.app.get(WorkspacePurge).resume();
      await first.app.get(WorkspacePurge).idle();
      await second.app.get(WorkspacePurge).idle();
      expect(await rowsWith([user.id, user.email])).toEqual([]);
    }
  });
});

describe('the subscription of a deleted account', () => {
  async function subscriber(name: string): Promise<TestUser> {
    const user = await first.user(name);
    await first.database.query(`UPDATE subscriptions SET provider_subscription_id = $2 WHERE user_id = $1`, [
      user.id,
      `sub_of_${name}`,
    ]);
    await first.database.query(
      `INSERT INTO payment_customers (user_id, customer_id, created_at) VALUES ($1, $2, now())`,
      [user.id, `cus_of_${name}`],
    );
    return user;
  }
  const owed = (): Promise<unknown[]> => first.database.query('SELECT FROM owed_cancellations');
  const ASKED = (name: string): string[] => [
    `DELETE /v1/subscriptions/sub_of_${name}`,
    `DELETE /v1/customers/cus_of_${name}`,
  ];

  it('is cancelled at the provider, and the customer removed', async () => {
    const user = await subscriber('pays');
    await remove(user).expect(200);
    await eventually(async () => expect(await owed()).toEqual([]));
    expect(provider.asked).toEqual(ASKED('pays'));
  });

  it('does not keep the account alive while the provider fails: the nightly job cancels it', async () => {
    const user = await subscriber('waits');
    provider.status = 500;
    await remove(user).expect(200);
    await user.get('/api/v1/workspaces').expect(401);
    await eventually(() => expect(first.logged()).toContain('could not cancel at the payment provider'));
    expect(await owed()).toHaveLength(1);

    provider.status = 200;
    provider.asked.length = 0;
    await second.app.get(NightlyJobs).run();
    expect(provider.asked).toEqual(ASKED('waits'));
    expect(await owed()).toEqual([]);
    expect(first.logged()).not.toContain(STRIPE_KEY);
  });

  it('is cancelled although the provider refuses earlier cancellations', async () => {
    const { query } = first.database;
    await query(
      `INSERT INTO owed_cancellations (customer_id, since) SELECT 'cus_broken_' || n, now() FROM generate_series(1, 6) n`,
    );
    const user = await subscriber('behind-them');
    await remove(user).expect(200);
    await eventually(async () => expect(await owed()).toHaveLength(6));
    expect(provider.asked.slice(-2)).toEqual(ASKED('behind-them'));
    await query('DELETE FROM owed_cancellations');
  });

  it('is cancelled with two requests for each account when many accounts are deleted at once', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `in-a-crowd-${i}`);
    const users = await Promise.all(names.map(subscriber));
    await Promise.all(users.map((user) => remove(user).expect(200)));
    await eventually(async () => expect(await owed()).toEqual([]));
    expect(provider.asked.sort()).toEqual(names.flatMap(ASKED).sort());
  });

  it('gets a second pass when it is requested during the first, even at its very end', async () => {
    const cancellations = first.app.get(CancellationOutbox);
    for (let moment = 0; moment < 12; moment++) {
      await cancellations.settled(); // what earlier deletions have requested
      let passes = 0;
      const settle = jest.spyOn(cancellations, 'settle').mockImplementation(() => {
        passes++;
        return Promise.resolve({ cancelled: 0, failed: 0 });
      });
      cancellations.settleSoon();
      for (let tick = 0; tick < moment; tick++) await Promise.resolve();
      cancellations.settleSoon();
      for (let tick = 0; tick < 50; tick++) await Promise.resolve();
      expect([moment, passes]).toEqual([moment, 2]);
      settle.mockRestore();
    }
  });

  it.each([
    [503, '"upstream is busy"'],
    [200, '"upstream is busy"'],
    [200, '1'],
    [200, 'null'],
    [200, '[]'],
    [200, '<html>welcome</html>'],
  ])('stays owed after an answer that does not confirm it: %i with %s', async (status, body) => {
    const user = await subscriber(`hears-${randomUUID()}`);
    Object.assign(provider, { status, body });
    await remove(user).expect(200);
    await eventually(() => expect(provider.asked).toHaveLength(1));
    expect(await first.app.get(CancellationOutbox).settle()).toEqual({ cancelled: 0, failed: 1 });
    expect(first.logged()).toContain(`the payment provider answered ${status}`);
    Object.assign(provider, { status: 200, body: undefined });
    expect(await first.app.get(CancellationOutbox).settle()).toEqual({ cancelled: 1, failed: 0 });
  });

  it('is settled when the provider reports that it no longer exists', async () => {
    const user = await subscriber('gone-already');
    provider.status = 404;
    await remove(user).expect(200);
    await eventually(async () => expect(await owed()).toEqual([]));
  });

  it('stays recorded while no provider is configured', async () => {
    const third = await startService({ beside: first, env: { STRIPE_SECRET_KEY: '' } });
    const user = await subscriber('nobody-to-tell');
    await remove(user.at(third.url)).expect(200);
    await third.app.get(NightlyJobs).run();
    expect(provider.asked).toEqual([]);
    expect(await owed()).toHaveLength(1);
    await third.close();
    expect(await first.app.get(CancellationOutbox).settle()).toEqual({ cancelled: 1, failed: 0 });
  });
});

describe('a deletion whose process dies', () => {
  it('changes nothing when it dies before the commit', async () => {
    const leaver = await settleIn('dies-before');
    const { user } = leaver;
    const before = await checksums(first.database);
    // The commit is refused, as it is when the connection is lost.
    await first.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    );
    await first.database.query(
      `CREATE CONSTRAINT TRIGGER refuse AFTER DELETE ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    await remove(user).expect(500);
    await first.database.query('DROP FUNCTION refuse CASCADE');
    expect(await checksums(first.database)).toEqual(before);
    await leaver.workspaces[0]!.get('small').expect(200);
    await remove(user).expect(200);
  });

  it('is completed by another instance when it dies right after the commit', async () => {
    const leaver = await settleIn('dies-after');
    const mute = jest.spyOn(first.app.get(WorkspacePurge), 'begin').mockImplementation(() => undefined);
    await first.app.get(AccountDeletion).delete(leaver.user.id, leaver.user.email, { actor: 'user' });
    mute.mockRestore();
    expect(await rowsWith([leaver.workspaces[0]!.id])).not.toEqual([]);
    await second.app.get(WorkspacePurge).resume();
    await second.app.get(WorkspacePurge).idle();
    expect(await rowsWith(wordsOf(leaver))).toEqual([]);
  });
});

it('every foreign key to users deletes or clears its rows, and has the name that errors rely on', async () => {
  const wrong = await first.database.query(
    `SELECT conrelid::regclass::text AS "table", conname FROM pg_constraint
     WHERE contype = 'f' AND confrelid = 'users'::regclass
       AND (confdeltype NOT IN ('c', 'n') OR conname !~ '_user_id_fkey\\d*$')`,
  );
  expect(wrong).toEqual([]);
});

/** A payment provider that answers the two requests of an account deletion. */
async function startProvider(): Promise<{ url: string }> {
  const server = createServer((request, response) => {
    provider.asked.push(`${request.method} ${request.url}`);
    if (request.headers.authorization !== `Bearer ${STRIPE_KEY}`) response.writeHead(401);
    else if (request.url?.includes('broken')) {
      response.writeHead(400, { 'content-type': 'text/html' }).end('<html>');
      return;
    } else response.writeHead(provider.status, { 'content-type': 'application/json' });
    const error = { code: 'resource_missing', message: 'No such thing' };
    response.end(provider.body ?? JSON.stringify(provider.status === 404 ? { error } : { deleted: true }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  provider.server = server;
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
