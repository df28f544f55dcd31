import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { Database, type Statement } from '../../../src/platform/database/index.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { CHANGES } from '../../../src/domain/workspaces/index.js';
import { expectExactUsage, assetToken, envelope, TestAssets } from '../../kit/assets.js';
import { DatabaseLink } from '../../kit/database-link.js';
import { heldOpen } from '../../kit/hold.js';
import { eventually, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';
import { waitPatiently } from '../../kit/patient-locks.js';

const DAY = 24 * 60 * 60_000;
const LARGE = Buffer.alloc(100_000, 'x');
const GATE = 4711;

let service: TestService;
let link: DatabaseLink;
/** Another instance on the same data, whose link to PostgreSQL can be cut. */
let linked: TestService;
let names = 0;

beforeAll(async () => {
  service = await startService();
  link = await DatabaseLink.to(service.database);
  linked = await startService({ beside: service, env: { DATABASE_URL: link.url } });
  for (const one of [service, linked]) await waitPatiently(one); // for locks that a test holds
});
afterAll(async () => {
  await linked.close();
  await link.cut();
  await service.close();
});

const workspace = async (): Promise<TestWorkspace> => (await service.user(`user-${++names}`)).workspace();
const thereOf = (notes: TestWorkspace): TestWorkspace => notes.as(notes.user.at(linked.url));

const logHeld = ({ id }: TestWorkspace): Promise<() => Promise<void>> =>
  heldOpen(service.database, 'SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [id]);

const deletionHeld = ({ id }: TestWorkspace): Promise<() => Promise<void>> =>
  heldOpen(service.database, 'UPDATE workspaces SET deleted_at = $2 WHERE id = $1', [
    id,
    service.clock.now(),
  ]);

const gateClosed = (): Promise<() => Promise<void>> =>
  heldOpen(service.database, 'SELECT pg_advisory_xact_lock($1)', [GATE]);

/** From now on an insert into the table waits until the gate is open. */
async function gated(table: string, when: string): Promise<void> {
  await service.database.query(`
    CREATE FUNCTION gate_of_${table}() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(${GATE}); RETURN NEW; END $$;
    CREATE ${when} ON ${table} ${when.includes('AFTER') ? 'DEFERRABLE INITIALLY DEFERRED' : ''}
      FOR EACH ROW EXECUTE FUNCTION gate_of_${table}()`);
}

async function waiters(): Promise<number> {
  const rows = await service.database.query(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

/** Acts once, after the first statement of this name and before its caller gets the answer. */
function after(statement: string, act: () => Promise<unknown>): void {
  const database = service.app.get(Database);
  const run = database.run.bind(database);
  let isDue = true;
  jest.spyOn(database, 'run').mockImplementation(async (asked: Statement, values) => {
    const rows = await run(asked, values);
    if (asked.name !== statement || !isDue) return rows;
    isDue = false;
    await act();
    return rows;
  });
}
afterEach(() => jest.restoreAllMocks());

describe('a write between any two statements of a read', () => {
  const uploadAfter = (statement: string, notes: TestWorkspace): void => {
    after(statement, async () => notes.put('between', 'content').expect(201));
  };

  it('is found by a pull from the cursor of the snapshot', async () => {
    const notes = await workspace();
    await notes.put('before', 'content').expect(201);
    uploadAfter('pages.snapshot', notes);
    const { body } = await notes.snapshot().expect(200);
    expect(body).toMatchObject({ cursor: 1, files: [{ encryptedPath: 'before' }] });
    expect((await notes.pull(body.cursor).expect(200)).body.changes).toHaveLength(1);
  });

  it('is found by the next pull', async () => {
    const notes = await workspace();
    await notes.put('before', 'content').expect(201);
    uploadAfter('pages.pull', notes);
    const { body } = await notes.pull(0).expect(200);
    expect(body).toMatchObject({ cursor: 1, changes: [{ encryptedPath: 'before' }] });
    expect((await notes.pull(body.cursor).expect(200)).body.changes).toHaveLength(1);
  });
});

describe('a COMMIT whose answer is lost', () => {
  it('keeps the bytes of an upload that may have made a version, which a retry returns', async () => {
    const notes = await workspace();
    const release = await logHeld(notes);
    const sent = thereOf(notes)
      .put('path', LARGE)
      .ok(() => true);
    const status = sent.then((answer) => answer.status);
    await eventually(async () => expect(await waiters()).toBe(1));
    await link.cut();
    expect(await status).toBe(503);
    await release();
    await link.mend();
    await eventually(async () => expect((await notes.status()).cursor).toBe(1));
    expect((await notes.put('path', LARGE).expect(200)).body.version).toBe(1);
    await scrub(service.database, service.dataDir);
    await expectReplayLaw(notes);
  });

  it('keeps the bytes of an asset for the row that it may have made', async () => {
    const notes = await workspace();
    const [there, token] = [TestAssets.of(thereOf(notes)), assetToken()];
    await gated('assets', 'CONSTRAINT TRIGGER gate AFTER INSERT');
    const open = await gateClosed();
    const sent = there.create(token, envelope(100_000)).ok(() => true);
    const status = sent.then((answer) => answer.status);
    await eventually(async () => expect(await waiters()).toBe(1));
    await link.cut();
    expect(await status).toBe(503);
    await open();
    await link.mend();
    const here = TestAssets.of(notes);
    await eventually(async () => expect(await here.tokens()).toEqual([token]));
    await here.get(token).expect(200);
    await expectExactUsage(service.database);
    await service.database.query('DROP FUNCTION gate_of_assets CASCADE');
  });
});

describe('a deletion that waits for the log behind another one of the same file', () => {
  it('is 404 and writes nothing to the log', async () => {
    const notes = await workspace();
    await notes.put('path', 'content').expect(201);
    const release = await logHeld(notes);
    const sent = ['one', 'another'].map(async (device) => (await notes.delete('path', device)).status);
    await eventually(async () => expect(await waiters()).toBe(2));
    await release();
    expect((await Promise.all(sent)).sort()).toEqual([200, 404]);
    expect(await notes.status()).toEqual({ cursor: 2, fileCount: 0 });
  });
});

describe('an upload that waits for the log while its workspace is deleted', () => {
  const CONTENTS = { inline: 'content', 'in-the-store': LARGE };
  const NOT_FOUND = { status: 404, body: { error: 'workspace not found' } };

  it.each(Object.entries(CONTENTS))('is 404 and writes nothing: alone, %s', async (path, content) => {
    const notes = await letIn();
    const before = await written(notes);
    const commit = await deletionHeld(notes);
    const sent = answered(notes, path, content);
    await eventually(async () => expect(await waiters()).toBe(1));
    await commit();
    expect(await sent).toEqual(NOT_FOUND);
    expect(before).toEqual(expect.arrayContaining(await written(notes)));
  });

  it('is 404 and writes nothing: in a shared commit', async () => {
    const notes = await letIn();
    const late = Object.entries(CONTENTS).flatMap(([path, content]) =>
      [1, 2].map((i) => [`${path}-${i}`, content] as const),
    );
    const queue = service.app.get(GroupCommitQueue);
    const sent: Promise<unknown>[] = [];
    let before: unknown[] = [];
    let commit = (): Promise<void> => Promise.resolve();
    after('files.put', async () => {
      sent.push(...late.map(([path, content]) => answered(notes, path, content)));
      await eventually(() => expect(queue.waiting).toBe(late.length));
      before = await written(notes);
      commit = await deletionHeld(notes);
    });
    await notes.put('first', 'content').expect(201);
    await eventually(async () => expect(await waiters()).toBe(1));
    await commit();
    expect(await Promise.all(sent)).toEqual(late.map(() => NOT_FOUND));
    expect(before).toEqual(expect.arrayContaining(await written(notes)));
  });

  /** After a first upload, access is checked by the statement that uploads, not by one before it. */
  async function letIn(): Promise<TestWorkspace> {
    const notes = await workspace();
    await notes.put('before', 'content').expect(201);
    return notes;
  }

  async function answered(notes: TestWorkspace, path: string, content: Buffer | string): Promise<unknown> {
    const { status, body } = await notes.put(path, content).ok(() => true);
    return { status, body };
  }

  /** All that uploads leave in a workspace; a purge may remove some of it meanwhile. */
  function written({ id }: TestWorkspace): Promise<unknown[]> {
    return service.database.query(
      `SELECT 'file' AS what, id::text FROM files WHERE workspace_id = $1
       UNION ALL SELECT 'version', id::text FROM versions WHERE workspace_id = $1
       UNION ALL SELECT 'change', cursor::text FROM changes WHERE workspace_id = $1
       UNION ALL SELECT 'live blob', id::text FROM blobs WHERE workspace_id = $1 AND state = 'live'`,
      [id],
    );
  }
});

describe('a checkpoint that is being made', () => {
  it('pins the current versions, although they are overwritten and retention runs before the checkpoint exists', async () => {
    const notes = await workspace();
    await notes.put('path', 'pinned').expect(201);
    await gated('checkpoints', 'TRIGGER gate BEFORE INSERT');
    const open = await gateClosed();
    const made = notes.checkpoint();
    await eventually(async () => expect(await waiters()).toBe(1));

    let isOver = false;
    const later = new Date(service.clock.now().getTime() + 40 * DAY);
    const meanwhile = notes
      .put('path', 'newer')
      .expect(200)
      .then(() => service.app.get(Retention).run(later))
      .finally(() => (isOver = true));
    await eventually(async () => expect(isOver || (await waiters()) === 2).toBe(true));
    await open();
    await meanwhile;
    const { id } = await made;

    const address = `${notes.path}/checkpoints/${id}/note-state?encPath=path`;
    const { versionId } = (await notes.user.get(address).expect(200)).body;
    expect(String((await notes.version('path', versionId).expect(200)).body)).toBe('pinned');
    await service.database.query('DROP FUNCTION gate_of_checkpoints CASCADE');
  });
});

describe('a change is announced only after it is committed:', () => {
  const WRITES: Readonly<Record<string, (notes: TestWorkspace, versionId: string) => Promise<unknown>>> = {
    'an upload': async (notes) => notes.put('path', 'newer').expect(200),
    'a deletion': async (notes) => notes.delete('path').expect(200),
    'a push': async (notes) => notes.push(1, ['path']).expect(200),
    'a restore': async (notes, versionId) => notes.restore('path', versionId).expect(200),
  };

  it.each(Object.entries(WRITES))('%s', async (_, write) => {
    const notes = await workspace();
    await notes.put('path', 'content').expect(201);
    const [version] = await notes.versions('path');
    const heard: string[] = [];
    const bus = service.app.get(EventBus);
    const release = await logHeld(notes);
    bus.on(CHANGES, (id) => void heard.push(id));
    const written = write(notes, version!.id);
    await eventually(async () => expect(await waiters()).toBe(1));
    expect(heard).not.toContain(notes.id);
    await release();
    await written;
    expect(heard).toContain(notes.id);
  });
});
