import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { NightlyJobs, JobRuns, NightlySchedule } from '../../src/platform/jobs/index.js';
import { Database } from '../../src/platform/database/index.js';
import { OwedToNodes, WorkspacePurge } from '../../src/workspaces/index.js';
import { PushQueue } from '../../src/web-push/push-queue.js';
import { AsOnNodes, NODE } from '../kit/as-on-nodes.js';
import { BASE_URL, startService, type TestService, type TestUser, type TestWorkspace } from '../kit/index.js';
import { Visitor } from '../kit/visitor.js';

const KEYS = {
  p256dh: 'BL00bDYeLUn03mz20KY9ZlxPdltOpNHJvdVXJYaoNYHQg3Vocz7gyb1rugY2RL1koRs3iuNkaysXAq6dX7qN2kI',
  auth: 'xrMrGo8P6rKVmRN-MHeJAw',
};
const PASSWORD = 'correct horse battery staple';

let service: TestService;
let nodes: AsOnNodes;
let users = 0;
beforeAll(async () => {
  service = await startService();
  nodes = await AsOnNodes.of(service);
});
afterEach(() => nodes.comeBack());
afterAll(() => service.close());

const rowsOf = <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
  service.database.query<Row>(sql, values);
const settle = (): Promise<void> => service.app.get(OwedToNodes, { strict: false }).settleAll();

async function subscribe({ user, id }: TestWorkspace, deviceId: string): Promise<void> {
  const body = { workspaceId: id, deviceId, endpoint: 'https://push.example.org/abc', keys: KEYS };
  await user.post('/api/v1/devices/push-subscription').send(body).expect(201);
}

async function deviceOf(user: TestUser): Promise<string> {
  const { body } = await user.post('/api/v1/devices').send({ name: 'Laptop', platform: 'linux' }).expect(201);
  return (body as { id: string }).id;
}

const subscribed = async (workspaceId: string): Promise<string[]> =>
  (
    await rowsOf<{ device_id: string }>(
      'SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 ORDER BY device_id',
      [workspaceId],
    )
  ).map(({ device_id }) => device_id);

/** The devices that get a push for a change in the workspace. */
async function pushedTo(workspaceId: string): Promise<string[]> {
  const queue = service.app.get(PushQueue, { strict: false });
  await queue.mark([{ workspaceId, type: 'changes', by: undefined }]);
  await rowsOf('UPDATE push_subscriptions SET due_at = now() - interval $$1 hour$$ WHERE workspace_id = $1', [
    workspaceId,
  ]);
  const pushes = await queue.claim(100, 100, new Map());
  return pushes.filter((push) => push.workspaceId === workspaceId).map(({ deviceId }) => deviceId);
}

/** A user with a workspace on each of two nodes. */
async function onTwoNodes(): Promise<{ user: TestUser; here: TestWorkspace; there: TestWorkspace }> {
  const user = await service.user(`user${users++}`);
  return { user, here: await user.workspace('Here'), there: await user.workspace('There') };
}

describe('while the node of a workspace is away', () => {
  it('a device is deleted: it gets no push, and its subscription goes when the node is back', async () => {
    const { user, here, there } = await onTwoNodes();
    const stolen = await deviceOf(user);
    for (const workspace of [here, there]) {
      await subscribe(workspace, stolen);
      await subscribe(workspace, 'kept');
    }
    nodes.leave(there.id);
    await user.delete(`/api/v1/devices/${stolen}`).expect(200, { ok: true });
    await user.delete(`/api/v1/devices/${stolen}`).expect(404);
    expect([await subscribed(here.id), await subscribed(there.id)]).toEqual([
      ['kept'],
      [stolen, 'kept'].sort(),
    ]);
    await settle();
    expect(await subscribed(there.id)).toContain(stolen);

    nodes.comeBack();
    expect(await pushedTo(there.id)).toEqual(['kept']);
    await settle();
    expect(await subscribed(there.id)).toEqual(['kept']);
    expect(await rowsOf('SELECT FROM owed_unsubscriptions')).toEqual([]);
  });

  it('a device is deleted by its id in capitals: its subscription goes too', async () => {
    const { user, here } = await onTwoNodes();
    const device = await deviceOf(user);
    await subscribe(here, device);
    await user.delete(`/api/v1/devices/${device.toUpperCase()}`).expect(200);
    expect(await subscribed(here.id)).toEqual([]);
  });

  it('a device that subscribes anew before its old subscription is gone keeps the new one', async () => {
    const { user, there } = await onTwoNodes();
    const device = await deviceOf(user);
    await subscribe(there, device);
    nodes.leave(there.id);
    await user.delete(`/api/v1/devices/${device}`).expect(200);
    nodes.comeBack();
    await subscribe(there, device);
    await settle();
    expect(await subscribed(there.id)).toEqual([device]);
    expect(await pushedTo(there.id)).toEqual([device]);
  });

  it('an account cannot fill the coordinator with deleted devices', async () => {
    const { user, there } = await onTwoNodes();
    const device = await deviceOf(user);
    await rowsOf(
      'INSERT INTO owed_unsubscriptions (workspace_id, device_id) SELECT $1, n::text FROM generate_series(1, 10000) n',
      [there.id],
    );
    nodes.leave(there.id);
    await user.delete(`/api/v1/devices/${device}`).expect(503);
    expect((await user.get('/api/v1/devices').expect(200)).text).toContain(device);
    nodes.comeBack();
    await settle();
    await user.delete(`/api/v1/devices/${device}`).expect(200);
    expect(await rowsOf('SELECT FROM owed_unsubscriptions')).toEqual([]);
  });

  it('an account is deleted: nothing of it is served or pushed, and its data are purged when the node is back', async () => {
    const { user, here, there } = await onTwoNodes();
    await there.put('b25l', 'a note').expect(201);
    await subscribe(there, 'phone');
    nodes.leave(there.id);
    await user.delete('/api/v1/auth/me').send({ confirm: user.email }).expect(200);
    await user.get('/api/v1/workspaces').expect(401);
    expect(await rowsOf('SELECT FROM workspace_catalogue WHERE user_id = $1', [user.id])).toEqual([]);
    const left = () =>
      rowsOf<{ id: string }>('SELECT id FROM workspaces WHERE id = ANY ($1) AND deleted_at IS NULL', [
        [here.id, there.id],
      ]);
    expect(await left()).toEqual([{ id: there.id }]);

    nodes.comeBack();
    expect(await pushedTo(there.id)).toEqual([]);
    await settle();
    await service.app.get(WorkspacePurge, { strict: false }).idle();
    for (const table of ['files', 'versions', 'push_subscriptions'])
      expect(await rowsOf(`SELECT FROM ${table} WHERE workspace_id = $1`, [there.id])).toEqual([]);
    expect(await left()).toEqual([]);
    expect(await rowsOf('SELECT FROM owed_deletions')).toEqual([]);
  });

  it('the mark of a workspace that its node does not have yet stays owed', async () => {
    const id = randomUUID();
    await rowsOf('INSERT INTO owed_deletions (workspace_id, deleted_at) VALUES ($1, now())', [id]);
    await settle();
    expect(await rowsOf('SELECT workspace_id AS id FROM owed_deletions')).toEqual([{ id }]);
    await rowsOf(
      `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $1, 'late', now(), now())`,
      [id],
    );
    await settle();
    await service.app.get(WorkspacePurge, { strict: false }).idle();
    expect(await rowsOf('SELECT FROM workspaces WHERE id = $1', [id])).toEqual([]);
    expect(await rowsOf('SELECT FROM owed_deletions')).toEqual([]);
  });

  it('the account page shows the other workspaces, and says which figures are missing', async () => {
    const email = `page${users}@example.org`;
    const body = { email, name: 'page', password: PASSWORD };
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', BASE_URL)
      .send(body)
      .expect(200);
    const browser = new Visitor(service.url);
    await browser.submit(await browser.get('/account'), 'Sign in', { email, password: PASSWORD });
    const user = await service.user(`page${users++}`);
    await user.workspace('Reachable');
    const { id } = await user.workspace('Elsewhere');
    const whole = (await browser.get('/account')).text;
    expect(whole).toContain('in use for notes and files, with their history');
    expect(whole).not.toContain('Out of reach');
    nodes.leave(id);
    const page = await browser.get('/account');
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/Elsewhere<\/p><p class="hint">Out of reach at the moment/);
    expect(page.text).toContain('Delete Reachable');
    expect(page.text).not.toContain('Delete Elsewhere');
    expect(page.text).toContain('is not known at the moment');
    expect(page.text).not.toContain('in use for notes and files, with their history');
  });

  it('a sum of the usage would be wrong: 503', async () => {
    const { user, there } = await onTwoNodes();
    await user.get('/api/v1/usage').expect(200);
    nodes.leave(there.id);
    const { headers } = await user.get('/api/v1/usage').expect(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('a nightly job', () => {
  const jobs = (): NightlyJobs => service.app.get(NightlyJobs, { strict: false });
  const lastOf = async (name: string) =>
    (await service.app.get(JobRuns, { strict: false }).last(name, service.clock.now(), 1))[0];
  let calls = 0;

  it('that leaves out a node has not succeeded, and runs again when the node is back', async () => {
    const database = service.app.get(Database);
    jobs().add('counted', async () => {
      calls++;
      return {
        parts: (await database.onParts(() => database.run({ name: 'test.one', text: 'SELECT 1' }, [])))
          .length,
      };
    });
    jobs().add('parted', async () => ({
      rows: (await database.runOnParts({ name: 'test.two', text: 'SELECT 2' }, [])).length,
    }));
    nodes.leave(randomUUID());
    await jobs().run();
    expect(await lastOf('parted')).toMatchObject({
      counts: { rows: 1 },
      error: `left out nodes that are away: ${NODE}`,
    });
    expect((await lastOf('nightly'))?.counts.failed).toBeGreaterThan(0);
    expect(calls).toBe(1);

    nodes.comeBack();
    await service.app.get(NightlySchedule, { strict: false }).catchUp();
    expect(await lastOf('parted')).toMatchObject({ counts: { rows: 1 }, error: null });
    expect(calls).toBe(1);
  });

  it('waits for another run on one connection, however often a node comes back', async () => {
    const schedule = service.app.get(NightlySchedule, { strict: false });
    await schedule.beforeApplicationShutdown(); // its cron job; it has begun before there were nodes
    schedule.begin();
    let endOther = (): void => undefined;
    const otherEnds = new Promise<void>((resolve) => (endOther = resolve));
    const isBegun = new Promise<void>((begun) => {
      void jobs().runAlone('another', async () => {
        begun();
        await otherEnds;
        return {};
      });
    });
    await isBegun;
    const runs = jest.spyOn(NightlyJobs.prototype, 'runLeftOut');
    for (let times = 0; times < 20; times++) nodes.comeBack();
    const begun = runs.mock.calls.length;
    endOther();
    await schedule.catchUp();
    runs.mockRestore();
    await schedule.beforeApplicationShutdown();
    expect(begun).toBe(1);
  });

  it('fails when what it needs beside the parts does not answer', async () => {
    const database = service.app.get(Database);
    const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    await expect(database.onParts(() => Promise.reject(lost))).rejects.toBe(lost);
    await expect(database.unlessAway(() => Promise.reject(lost), [])).rejects.toBe(lost);
  });
});
