import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import pg from 'pg';
import { BlobStores } from '../../../src/platform/storage/blob-store.js';
import { BlobSweeper, BlobUpkeep } from '../../../src/platform/storage/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { eventually } from '../../kit/eventually.js';
import { footprint } from '../../kit/footprint.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let one: TestService;
let two: TestService;
let deleted: string[];
let names = 0;

beforeAll(async () => {
  one = await startService();
  two = await startService({ beside: one });
  for (const { app } of [one, two]) {
    const { main } = app.get(BlobStores);
    const remove = main.delete.bind(main);
    main.delete = async (key) => {
      deleted.push(key);
      await remove(key);
    };
  }
});
afterAll(async () => {
  await two.close();
  await one.close();
});
beforeEach(async () => {
  // Blobs that another test has left must not count in this one.
  one.clock.advance(2 * HOUR);
  deleted = [];
  await one.app.get(BlobUpkeep).sweep(one.clock.now());
  deleted = [];
});

const sweep = (service = one): Promise<number> => service.app.get(BlobSweeper).sweep(service.clock.now());
const workspace = async (): Promise<TestWorkspace> => (await one.user(`sweeper-${++names}`)).workspace();

async function stateOf(id: string): Promise<string | undefined> {
  const [row] = await one.database.query<{ state: string }>('SELECT state FROM blobs WHERE id = $1', [id]);
  return row?.state;
}

/** Stores large blobs that nothing refers to, past their grace period. @returns their ids */
async function unreferenced(notes: TestWorkspace, count: number): Promise<string[]> {
  for (let n = 0; n < count; n += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, count - n) }, (_, index) =>
        notes.put(`f${`${n + index}`.padStart(7, '0')}`, randomBytes(66_000)).expect(201),
      ),
    );
  for (const table of ['changes', 'versions', 'files'])
    await one.database.query(`DELETE FROM ${table} WHERE workspace_id = $1`, [notes.id]);
  const rows = await one.database.query<{ id: string }>(
    `UPDATE blobs SET state = 'dying', not_before = $2 WHERE workspace_id = $1 RETURNING id`,
    [notes.id, one.clock.now()],
  );
  return rows.map(({ id }) => id);
}

describe('a referenced blob is never swept:', () => {
  it('one of a version survives', async () => {
    const notes = await workspace();
    const content = randomBytes(70_000);
    await notes.put('YQ', content).expect(201);
    await one.database.query(`UPDATE blobs SET state = 'dying', not_before = $2 WHERE workspace_id = $1`, [
      notes.id,
      one.clock.now(),
    ]);
    expect(await sweep()).toBe(0);
    expect(deleted).toEqual([]);
    const { body } = await notes.get('YQ').expect(200);
    expect(content.equals(body as Buffer)).toBe(true);
    const [blob] = await one.database.query('SELECT state, not_before FROM blobs WHERE workspace_id = $1', [
      notes.id,
    ]);
    expect(blob).toEqual({ state: 'live', not_before: null });
  });

  it('one of an asset survives, although the sweeper does not know of assets', async () => {
    const notes = await workspace();
    const [id] = await unreferenced(notes, 1);
    await one.database.query(
      `INSERT INTO assets (workspace_id, token, blob_id, size, revision, uploaded_at) VALUES ($1, 'dG9rZW4', $2, 66000, 1, $3)`,
      [notes.id, id, one.clock.now()],
    );
    expect(await sweep()).toBe(0);
    expect(deleted).toEqual([]);
    expect(await stateOf(id!)).toBe('live');
  });

  it('one with a reference that is not yet committed is left until the commit', async () => {
    const notes = await workspace();
    const [id] = await unreferenced(notes, 1);
    const client = new pg.Client({ connectionString: one.database.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO assets (workspace_id, token, blob_id, size, revision, uploaded_at) VALUES ($1, 'dG9rZW4', $2, 66000, 1, $3)`,
      [notes.id, id, one.clock.now()],
    );
    expect(await sweep()).toBe(0);
    expect(await stateOf(id!)).toBe('dying');
    await client.query('COMMIT');
    await client.end();
    expect(await sweep()).toBe(0);
    expect(await stateOf(id!)).toBe('live');
    expect(deleted).toEqual([]);
  });

  it('one whose reference is committed while the sweeper holds its lock survives', async () => {
    const notes = await workspace();
    const ids = await unreferenced(notes, 40);
    // References come one by one, each in a commit of its own, while both instances sweep without a pause.
    const referred: string[] = [];
    const refer = async (): Promise<void> => {
      for (const id of ids.slice(0, 20)) {
        const rows = await one.database.query(
          `WITH blob AS (SELECT id FROM blobs WHERE workspace_id = $1 AND id = $2 AND claimed_until IS NULL FOR KEY SHARE)
           INSERT INTO assets (workspace_id, token, blob_id, size, revision, uploaded_at)
           SELECT $1, replace($2::text, '-', ''), id, 66000, 1, $3 FROM blob RETURNING blob_id`,
          [notes.id, id, one.clock.now()],
        );
        if (rows.length > 0) referred.push(id);
      }
    };
    await Promise.all([refer(), sweep(one), sweep(two)]);
    await sweep();
    const lost = deleted.filter((key) => referred.includes(key.slice(37)));
    expect(lost).toEqual([]);
    for (const id of referred) expect(await stateOf(id)).toBe('live');
    expect(deleted).toHaveLength(ids.length - referred.length);
  });
});

describe('an unreferenced blob', () => {
  it('is removed once, even when two instances sweep at the same time', async () => {
    const notes = await workspace();
    const ids = await unreferenced(notes, 210);
    const counts = await Promise.all([sweep(one), sweep(two), sweep(one), sweep(two)]);
    expect(counts.reduce((sum, count) => sum + count)).toBe(210);
    expect([...deleted].sort()).toEqual(ids.map((id) => `${notes.id}/${id}`).sort());
    expect(await footprint(one, notes.id)).toMatchObject({ blobs: 0, onDisk: [] });
  });

  it('is removed once, even when one instance is slow and another one sweeps meanwhile', async () => {
    const notes = await workspace();
    const ids = await unreferenced(notes, 30);
    const { main } = one.app.get(BlobStores);
    const remove = main.delete.bind(main);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const begun = new Promise<void>((resolve) => {
      main.delete = async (key) => {
        resolve();
        await released;
        await remove(key);
      };
    });
    const slow = sweep(one);
    await begun;
    expect(await sweep(two)).toBe(0);
    expect(await two.app.get(BlobSweeper).sweepWorkspace(notes.id, one.clock.now())).toBe(0);
    release();
    expect(await slow).toBe(30);
    main.delete = remove;
    expect([...deleted].sort()).toEqual(ids.map((id) => `${notes.id}/${id}`).sort());
  });

  it('is removed once, even when two instances purge its workspace and sweep at the same time', async () => {
    const notes = await workspace();
    const ids = await unreferenced(notes, 100);
    const [a, b] = [one, two].map(({ app }) => app.get(BlobSweeper));
    await Promise.all([
      a!.sweepWorkspace(notes.id, one.clock.now()),
      b!.sweepWorkspace(notes.id, one.clock.now()),
      sweep(one),
      sweep(two),
    ]);
    expect([...deleted].sort()).toEqual(ids.map((id) => `${notes.id}/${id}`).sort());
    expect(await footprint(one, notes.id)).toMatchObject({ blobs: 0, onDisk: [] });
  });

  it('is removed once the claim of a sweeper that died has expired', async () => {
    const notes = await workspace();
    const [id] = await unreferenced(notes, 1);
    await one.database.query('UPDATE blobs SET claimed_until = $2 WHERE id = $1', [
      id,
      new Date(one.clock.now().getTime() + 10 * MINUTE),
    ]);
    expect(await sweep()).toBe(0);
    one.clock.advance(10 * MINUTE);
    expect(await sweep()).toBe(1);
    expect(deleted).toEqual([`${notes.id}/${id}`]);
  });

  it('is removed on time after a sweep as of a future time has failed', async () => {
    const notes = await workspace();
    const [id] = await unreferenced(notes, 1);
    const { main } = one.app.get(BlobStores);
    const remove = main.delete.bind(main);
    main.delete = () => Promise.reject(new Error('the store is away'));
    const future = new Date(one.clock.now().getTime() + 1000 * HOUR);
    expect(await one.app.get(BlobSweeper).sweep(future)).toBe(0);
    main.delete = remove;
    one.clock.advance(5 * MINUTE);
    expect(await sweep()).toBe(1);
    expect(await stateOf(id!)).toBeUndefined();
  });
});

describe('an upload in flight', () => {
  it.each(['is still there', 'has gone meanwhile'])(
    'that is taken for dead before its first byte is stored leaves nothing, when its workspace %s',
    async (fate) => {
      const notes = await workspace();
      const { main } = one.app.get(BlobStores);
      const write = main.put.bind(main);
      main.put = async (...object) => {
        main.put = write;
        if (fate === 'has gone meanwhile') await notes.user.delete(notes.path).expect(200);
        one.clock.advance(61 * MINUTE);
        await sweep();
        await one.app.get(WorkspacePurge).finish();
        expect(await footprint(one, notes.id)).toMatchObject({
          workspaces: fate === 'is still there' ? 1 : 0,
          blobs: 0,
        });
        await write(...object);
      };
      await notes.put('YQ', randomBytes(200_000)).expect(fate === 'is still there' ? 503 : 404);
      expect(await footprint(one, notes.id)).toMatchObject({ versions: 0, blobs: 0, onDisk: [] });
    },
  );

  it('leaves its bytes to the next sweep when a sweeper holds its row', async () => {
    const notes = await workspace();
    const { main } = one.app.get(BlobStores);
    const [write, remove] = [main.put.bind(main), main.delete.bind(main)];
    let sweeping: Promise<number> | undefined;
    main.put = async (...object) => {
      main.put = write;
      one.clock.advance(61 * MINUTE);
      await new Promise<void>((resolve) => {
        main.delete = async (key) => {
          await remove(key);
          main.delete = () => Promise.reject(new Error('the store is away'));
          resolve();
          await answered;
        };
        sweeping = sweep();
      });
      await write(...object);
    };
    const answered = notes.put('YQ', randomBytes(200_000)).then(({ status }) => status);
    expect(await answered).toBe(503);
    await sweeping;
    main.delete = remove;
    one.clock.advance(11 * MINUTE);
    expect(await sweep()).toBe(1);
    expect(await footprint(one, notes.id)).toMatchObject({ versions: 0, blobs: 0, onDisk: [] });
  });

  it('is removed within an hour after it has died, even when the first sweeper is killed', async () => {
    const { id } = await workspace();
    await one.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $1, 'staged', 'disk', $2)`,
      [id, one.clock.now()],
    );
    const { main } = one.app.get(BlobStores);
    const remove = main.delete.bind(main);
    main.delete = () => new Promise(() => undefined); // it is killed here
    one.clock.advance(39 * MINUTE); // the first sweep, as late as it may begin
    void sweep();
    await one.database.eventually(`SELECT FROM blobs WHERE id = '${id}' AND claimed_until IS NOT NULL`);
    main.delete = remove;
    one.clock.advance(20 * MINUTE);
    expect(await sweep(two)).toBe(1);
    expect(await stateOf(id)).toBeUndefined();
  });

  it('is left alone for half an hour; then it ends with 503 as dead, and leaves nothing', async () => {
    const notes = await workspace();
    const content = randomBytes(200_000);
    const put = request(one.url + notes.file('YQ'), {
      method: 'PUT',
      headers: {
        Authorization: `Bearer ${notes.user.token}`,
        'X-Content-Hash': sha256(content),
        'X-Device-Id': 'laptop',
        'Content-Length': content.length,
      },
    });
    const answered = once(put, 'response');
    put.write(content.subarray(0, 150_000));
    await eventually(async () => expect(await footprint(one, notes.id)).toMatchObject({ blobs: 1 }));

    one.clock.advance(29 * MINUTE);
    expect(await sweep()).toBe(0);
    one.clock.advance(2 * MINUTE);
    expect(await sweep()).toBe(1);
    put.end(content.subarray(150_000));
    const [answer] = (await answered) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBeDefined();
    await eventually(async () =>
      expect(await footprint(one, notes.id)).toMatchObject({ versions: 0, blobs: 0, onDisk: [] }),
    );
  });
});
