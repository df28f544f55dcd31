import { knownStatements, type Parameter } from '../../../src/platform/database/index.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

const NOW = new Date();
const GRACE_DAYS = 7;

let service: TestService;
let users = 0;

const newUser = (): Promise<TestUser> => service.user(`user${users++}`);

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const named = (name: string) => {
  const found = knownStatements().find((statement) => statement.name === name);
  if (!found) throw new Error(`no statement ${name}`);
  return found;
};

const rowsOf = (sql: string, values: readonly Parameter[]): Promise<object[]> =>
  service.database.query<object>(sql, [...values]);

const set = (sql: string, user: TestUser) => service.database.query(sql, [user.id]);

describe('where workspaces are on nodes', () => {
  it('the account decides who is admitted, and the node who owns the workspace', async () => {
    const [owner, other] = [await newUser(), await newUser()];
    const { id, path } = await owner.workspace();
    const callerState = async (user: TestUser): Promise<object[]> =>
      rowsOf(named('access.caller_state').onNodes, [user.id, NOW, GRACE_DAYS, id]);
    const state = { isUser: true, isSuspended: false, isSubscriber: true, isOwner: null };
    for (const user of [owner, other]) expect(await callerState(user)).toEqual([state]);
    const isOwner = async (user: TestUser): Promise<boolean> =>
      (await rowsOf(named('access.owned').text, [id, user.id])).length > 0;
    expect([await isOwner(owner), await isOwner(other)]).toEqual([true, false]);
    await owner.delete(path).expect(200);
    expect(await isOwner(owner)).toBe(false);
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
  ])('the check of the account agrees with one server: an account that %s', async (_, change, count) => {
    const user = await newUser();
    const workspace = await user.workspace();
    if (change !== '') await set(change, user);
    const rows = await rowsOf(named('access.admitted').text, [[user.id], [GRACE_DAYS], NOW]);
    expect(rows).toHaveLength(count);
    const { text } = named('batches.head');
    expect(await rowsOf(text, [workspace.id, user.id, NOW, GRACE_DAYS])).toHaveLength(count);
  });

  it('callers that need no subscription are admitted, and named by their place in the list', async () => {
    const [free, suspended] = [await newUser(), await newUser()];
    await set('DELETE FROM subscriptions WHERE user_id = $1', free);
    await set('UPDATE users SET suspended_at = now() WHERE id = $1', suspended);
    const ids = [suspended.id, free.id, free.id];
    const rows = await rowsOf(named('access.admitted').text, [ids, [null, GRACE_DAYS, null], NOW]);
    expect(rows).toEqual([{ place: 3 }]);
  });

  it('a statement on the node checks the owner and the deletion', async () => {
    const text = named('batches.head').onNodes;
    const workspace = await (await newUser()).workspace();
    const values = [workspace.id, workspace.user.id, NOW, GRACE_DAYS];
    expect(await rowsOf(text, values)).toHaveLength(1);
    expect(await rowsOf(text, [workspace.id, (await newUser()).id, NOW, GRACE_DAYS])).toEqual([]);
    await workspace.user.delete(workspace.path).expect(200);
    expect(await rowsOf(text, values)).toEqual([]);
  });
});
