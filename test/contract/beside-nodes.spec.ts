import { FILL_CATALOGUE, knownStatements, type Parameter } from '../../src/platform/database/index.js';
import { startService, type TestService, type TestUser } from '../kit/index.js';

/** In a minute that no test crosses. */
const NOW = new Date();
const GRACE_DAYS = 7;

let service: TestService;
let alice: TestUser;
let bob: TestUser;
let workspaceId: string;
let users = 0;

const newUser = (): Promise<TestUser> => service.user(`user${users++}`);

beforeAll(async () => {
  service = await startService();
  alice = await service.user('alice');
  bob = await service.user('bob');
  workspaceId = (await alice.workspace()).id;
  await alice.workspace();
  await bob.workspace();
  const gone = await alice.workspace();
  await alice.delete(gone.path).expect(200);
  for (const sql of FILL_CATALOGUE) await service.database.query(sql);
});
afterAll(() => service.close());

const named = (name: string) => {
  const found = knownStatements().find((statement) => statement.name === name);
  if (!found) throw new Error(`no statement ${name}`);
  return found;
};

const rowsOf = (sql: string, values: readonly Parameter[]): Promise<object[]> =>
  service.database.query<object>(sql, [...values]);

/** The rows of both texts of a statement, on a database where both tables are full. */
const onBoth = async (name: string, values: readonly Parameter[]): Promise<[object[], object[]]> => {
  const { text, onNodes } = named(name);
  return [await rowsOf(text, values), await rowsOf(String(onNodes), values)];
};

const set = (sql: string, user: TestUser) => service.database.query(sql, [user.id]);

describe('where workspaces are on nodes', () => {
  it.each([
    ['workspaces_of_user.page', 2, () => [alice.id, '00000000-0000-0000-0000-000000000000', 10]],
    ['workspaces_of_user.one', 1, () => [alice.id, workspaceId]],
    ['workspaces_of_user.among', 1, () => [alice.id, [workspaceId]]],
    ['workspaces_of_user.one', 0, () => [bob.id, workspaceId]],
  ])('the catalogue lists what the workspaces themselves do: %s, %i', async (name, count, valuesOf) => {
    const [own, listed] = await onBoth(name, valuesOf());
    expect(listed).toEqual(own);
    expect(listed).toHaveLength(count);
  });

  it.each(['alice', 'bob'])('the catalogue says who may use a workspace: %s', async (who) => {
    const user = who === 'alice' ? alice : bob;
    const [own, listed] = await onBoth('access.caller_state', [user.id, NOW, GRACE_DAYS, workspaceId]);
    expect(listed).toEqual(own);
    expect(listed).toMatchObject([{ isUser: true, isOwner: who === 'alice' }]);
  });

  it.each([
    ['is active', '', 1],
    ['is suspended', 'UPDATE users SET suspended_at = now() WHERE id = $1', 0],
    ['has no subscription', 'DELETE FROM subscriptions WHERE user_id = $1', 0],
    [
      'is gone',
      `WITH left_behind AS (UPDATE workspaces SET deleted_at = now(), user_id = NULL WHERE user_id = $1)
       DELETE FROM users WHERE id = $1`,
      0,
    ],
  ])('the account is checked beside the node as in the statement: one that %s', async (_, change, count) => {
    const user = await newUser();
    const workspace = await user.workspace();
    if (change !== '') await set(change, user);
    const rows = await rowsOf(named('access.admitted').text, [[user.id], [GRACE_DAYS], NOW]);
    expect(rows).toHaveLength(count);
    const { text } = named('batches.head');
    expect(await rowsOf(text, [workspace.id, user.id, NOW, GRACE_DAYS])).toHaveLength(count);
  });

  it('an account that needs no subscription is admitted without one, and each by its place', async () => {
    const [free, suspended] = [await newUser(), await newUser()];
    await set('DELETE FROM subscriptions WHERE user_id = $1', free);
    await set('UPDATE users SET suspended_at = now() WHERE id = $1', suspended);
    const ids = [suspended.id, free.id, free.id];
    const rows = await rowsOf(named('access.admitted').text, [ids, [null, GRACE_DAYS, null], NOW]);
    expect(rows).toEqual([{ place: 3 }]);
  });

  it('a statement on the node checks the owner and the deletion', async () => {
    const text = String(named('batches.head').onShard);
    const workspace = await (await newUser()).workspace();
    const values = [workspace.id, workspace.user.id, NOW, GRACE_DAYS];
    expect(await rowsOf(text, values)).toHaveLength(1);
    expect(await rowsOf(text, [workspace.id, bob.id, NOW, GRACE_DAYS])).toEqual([]);
    await workspace.user.delete(workspace.path).expect(200);
    expect(await rowsOf(text, values)).toEqual([]);
  });
});
