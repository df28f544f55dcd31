import type { Manifest } from '../../../src/domain/checkpoints/projections.js';
import { prepareThinning, thinVersions } from '../../../src/domain/files/index.js';
import { Clock } from '../../../src/platform/clock.js';
import { BlobSweeper } from '../../../src/platform/storage/index.js';
import { Database, statement } from '../../../src/platform/database/index.js';
import { Retention, type ThinnedWorkspace } from '../../../src/domain/retention/index.js';
import { supersededVersions } from '../../../src/domain/retention/history-walk.js';
import { LockedThinning } from '../../../src/domain/retention/locked-thinning.js';
import { footprint } from '../../kit/footprint.js';
import { type LoggedOperation, remainingVersions, writeLog, writeUser } from '../../kit/histories.js';
import { startService, type TestService, TestWorkspace } from '../../kit/index.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

let service: TestService;
let retention: Retention;
beforeAll(async () => {
  service = await startService();
  retention = service.app.get(Retention);
});
afterAll(() => service.close());
beforeEach(async () => {
  await service.database.query(
    'TRUNCATE workspaces, blobs, files, versions, changes, retention_progress CASCADE',
  );
  // A week begins here, so versions written within an hour or a day share one bucket.
  service.clock.stopAt(new Date('2026-03-09T00:00:00.000Z'));
});

/** Its owner has a subscription and a token that do not expire within a test. */
async function workspaceOf(name: string): Promise<TestWorkspace> {
  const user = await service.newcomer(name);
  const { body } = await user.post('/api/v1/auth/tokens').send({ name }).expect(201);
  await service.database.query(
    `INSERT INTO subscriptions (user_id, plan, status, updated_at) VALUES ($1, 'pro', 'active', now()) ON CONFLICT DO NOTHING`,
    [user.id],
  );
  return user.at(service.url, body.token).workspace();
}

/** Uploads contents to a path, one every `apart` ms. */
async function write(
  workspace: TestWorkspace,
  path: string,
  contents: (string | Buffer)[],
  apart = 1,
): Promise<void> {
  for (const content of contents) {
    await workspace.put(path, content).expect((answer) => expect([200, 201]).toContain(answer.status));
    service.clock.advance(apart);
  }
}

const later = (ms: number): Date => new Date(service.clock.now().getTime() + ms);
const thin = (ms: number): ReturnType<Retention['run']> => retention.run(later(ms));
const sweep = (ms: number): Promise<number> => service.app.get(BlobSweeper).sweep(later(ms));
const numbers = async (workspace: TestWorkspace, path: string): Promise<number[]> =>
  (await workspace.versions(path)).map(({ version }) => version);

describe('thinned versions', () => {
  it('disappear from lists, downloads and restores; the log, live files and counters stay', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two', 'three', 'four']);
    await write(workspace, 'other', ['single']);
    const [, three, two] = await workspace.versions('note');
    const log = await workspace.log();
    expect(await thin(2 * DAY)).toMatchObject({
      versions: 3,
      blobs: 3,
      bytes: 11,
      failed: 0,
      isComplete: true,
    });

    expect(await numbers(workspace, 'note')).toEqual([4]);
    for (const { id } of [three!, two!]) {
      await workspace.version('note', id).expect(404);
      await workspace.restore('note', id).expect(404);
    }
    expect(await workspace.log()).toEqual(log);
    await expectReplayLaw(workspace);
    const { body } = await workspace.put('note', 'five').expect(200);
    expect(body.version).toBe(5);
    await scrub(service.database, service.dataDir);
  });

  it('are reported for each workspace, and predicted by a dry run, which changes nothing', async () => {
    const [one, two] = [await workspaceOf('alice'), await workspaceOf('bob')];
    await workspaceOf('carol');
    await write(one, 'note', ['a', 'b', 'c']);
    await write(two, 'note', ['a', 'b']);
    const workspaces: ThinnedWorkspace[] = [];
    const onWorkspace = (workspace: ThinnedWorkspace): void => void workspaces.push(workspace);
    await retention.run(later(2 * DAY), { isDryRun: true, onWorkspace });
    const counts = (): number[] => workspaces.splice(0).map(({ versions }) => versions);
    expect(counts()).toEqual([2, 1]);
    expect(await numbers(one, 'note')).toEqual([3, 2, 1]);
    await retention.run(later(2 * DAY), { onWorkspace });
    expect(counts()).toEqual([2, 1]);
  });

  it('do not include the last version of a deleted file, which can be restored at any time', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two', 'three']);
    await workspace.delete('note').expect(200);
    await thin(400 * DAY);
    const [last, ...more] = await workspace.versions('note');
    expect(more).toEqual([]);
    await sweep(500 * DAY);
    await workspace.restore('note', last!.id).expect(200);
    expect(String((await workspace.get('note').expect(200)).body)).toBe('three');
  });

  it('are removed although thinning fails in another workspace', async () => {
    const [one, two] = [await workspaceOf('alice'), await workspaceOf('bob')];
    for (const workspace of [one, two]) await write(workspace, 'note', ['a', 'b']);
    await service.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF OLD.workspace_id = '${one.id}' THEN RAISE 'no'; END IF; RETURN OLD; END $$`,
    );
    await service.database.query(
      'CREATE TRIGGER refuse BEFORE DELETE ON versions FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
    expect(await thin(2 * DAY)).toMatchObject({ versions: 1, failed: 1, isComplete: true });
    await service.database.query('DROP FUNCTION refuse CASCADE');
    expect(await numbers(one, 'note')).toEqual([2, 1]);
    expect(await numbers(two, 'note')).toEqual([2]);
    expect(await thin(2 * DAY)).toMatchObject({ versions: 1, failed: 0 });
  });
});

describe('pinned versions', () => {
  it('stay while a checkpoint pins them, and its projections do not change', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two']);
    await write(workspace, 'gone', ['was here']);
    const early = await workspace.checkpoint();
    await write(workspace, 'note', ['three', 'four', 'five']);
    await workspace.delete('gone').expect(200);
    const late = await workspace.checkpoint();
    await write(workspace, 'note', ['six', 'seven']);

    const said = async (): Promise<unknown[]> => {
      const answers = [];
      for (const { id } of [early, late]) {
        for (const query of [
          'restore-manifest',
          'summary',
          'summary?fromCursor=0',
          'note-state?encPath=note',
        ])
          answers.push(
            (await workspace.user.get(`${workspace.path}/checkpoints/${id}/${query}`).expect(200)).body,
          );
      }
      return answers;
    };
    const before = await said();
    expect(await thin(100 * DAY)).toMatchObject({ versions: 4 });
    expect(await numbers(workspace, 'note')).toEqual([7, 5, 2]);
    expect(await said()).toEqual(before);
    for (const { entries = [] } of before as Partial<Manifest>[]) {
      for (const { encryptedPath, afterVersionId } of entries) {
        if (afterVersionId) await workspace.version(encryptedPath, afterVersionId).expect(200);
      }
    }
  });

  it('stay when the checkpoint is made while a run is under way', async () => {
    const { user } = await workspaceOf('alice');
    const files = 510; // more than a run reads at a time
    const operations = Array.from({ length: 2 * files }, (_, i): LoggedOperation => {
      return { file: i % files, action: 'upsert', at: service.clock.now() };
    });
    const { workspaceId } = await writeLog(service.database.query, user.id, { operations });
    const workspace = new TestWorkspace(user, workspaceId);
    const [last] = await service.database.query<{ path: string }>(
      'SELECT encrypted_path AS path FROM files ORDER BY id DESC LIMIT 1',
    );
    const { thin: thinBatch } = LockedThinning.prototype;
    jest.spyOn(LockedThinning.prototype, 'thin').mockImplementationOnce(async function (
      this: LockedThinning,
      ...batch
    ) {
      const thinned = await thinBatch.apply(this, batch);
      await workspace.checkpoint();
      await write(workspace, last!.path, ['overwritten']);
      return thinned;
    });
    expect(await thin(2 * DAY)).toMatchObject({ versions: files, failed: 0 });
    jest.restoreAllMocks();
    expect(await numbers(workspace, last!.path)).toEqual([3, 2]);
  });

  it('are removed by the next run once their last checkpoint is deleted', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one']);
    const checkpoints = [await workspace.checkpoint(), await workspace.checkpoint()];
    await write(workspace, 'note', ['two', 'three']);
    for (const { id } of checkpoints) {
      await thin(2 * DAY);
      expect(await numbers(workspace, 'note')).toEqual([3, 1]);
      await workspace.user.delete(`${workspace.path}/checkpoints/${id}`).expect(200);
    }
    await thin(2 * DAY);
    expect(await numbers(workspace, 'note')).toEqual([3]);
  });
});

describe('the statement that thins', () => {
  it('takes neither current nor pinned versions, even when it is given their ids', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two']);
    await workspace.checkpoint();
    await write(workspace, 'note', ['three', 'four']);
    await write(workspace, 'gone', ['was here', 'is gone']);
    await workspace.delete('gone').expect(200);
    const rows = await service.database.query<{ id: string }>('SELECT id FROM versions');
    const thinning = {
      workspaceId: workspace.id,
      versionIds: `{${rows.map(({ id }) => id).join()}}`,
      notBefore: later(DAY),
    };
    const thinned = await service.app.get(Database).transaction((tx) => thinVersions(tx, thinning));
    expect(thinned).toMatchObject({ versions: 3, blobs: 3 });
    expect(await numbers(workspace, 'note')).toEqual([4, 2]);
    expect(await numbers(workspace, 'gone')).toEqual([2]);
  });
});

describe('a batch of the thinning', () => {
  /** Each reading is `costMs` after the one before: the time that a batch holds the lock. */
  class WorkClock extends Clock {
    private elapsedMs = 0;
    costMs = 0;

    override elapsed(): number {
      return (this.elapsedMs += this.costMs);
    }
  }

  interface Measured {
    readonly versions: number;
    readonly lockMs: number;
  }

  /** @param each number of versions in a file; a page of the walk has several files of a hundred */
  async function workspaceOfOld(count: number, each = 100): Promise<string> {
    const operations = Array.from({ length: count }, (_, i): LoggedOperation => {
      return { file: Math.floor(i / each), action: 'upsert', at: service.clock.now() };
    });
    const owner = await writeUser(service.database.query);
    return (await writeLog(service.database.query, owner, { operations })).workspaceId;
  }

  /** Thins 9,000 versions on a machine that takes `msPerVersion` for each. */
  async function batchesAt(msPerVersion: (done: number) => number): Promise<Measured[]> {
    const workspaceId = await workspaceOfOld(9_000);
    const clock = new WorkClock();
    const database = service.app.get(Database);
    const thinning = new LockedThinning(database, clock, later(100 * DAY));
    const walk = supersededVersions(database, workspaceId, thinning.asOf, () => thinning.batchSize);
    const batches: Measured[] = [];
    let done = 0;
    for await (const batch of walk) {
      clock.costMs = batch.versions * msPerVersion(done);
      expect(await thinning.thin(workspaceId, batch)).toMatchObject({ versions: batch.versions });
      batches.push({ versions: batch.versions, lockMs: clock.costMs });
      done += batch.versions;
    }
    expect(done).toBe(9_000 - 90);
    return batches;
  }

  /** Blocks of all tables and indexes that were read so far. */
  async function blocksRead(): Promise<number> {
    await service.app.get(Database).transaction((tx) => tx.run(FLUSH, []));
    const [read] = await service.database.query<{ blocks: number }>(
      'SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int AS blocks FROM pg_statio_user_tables',
    );
    return read!.blocks;
  }
  const FLUSH = statement('test.flush_statistics', 'SELECT pg_stat_force_next_flush()');

  const sizesOf = (batches: Measured[]): number[] => batches.map(({ versions }) => versions);

  it('is as large as 25 ms allow, even when the machine becomes four times slower half-way', async () => {
    const batches = await batchesAt((done) => (done < 5_500 ? 0.1 : 0.4));
    expect(Math.max(...sizesOf(batches))).toBe(250);
    expect(Math.max(...batches.map(({ lockMs }) => lockMs))).toBeLessThan(200);
    const late = batches.filter(({ lockMs }) => lockMs > 25);
    expect(late.length).toBeLessThanOrEqual(1); // the one during which the machine becomes slower
    expect(Math.max(...sizesOf(batches).slice(-10))).toBeGreaterThan(50);
  });

  it('grows by at most half over the largest one so far, however fast the machine is', async () => {
    const sizes = sizesOf(await batchesAt(() => 0.000_1));
    expect(sizes.slice(0, 5)).toEqual([50, 75, 112, 168, 252]);
    for (const [index, size] of sizes.entries())
      expect(size).toBeLessThanOrEqual(Math.max(50, 1.5 * Math.max(0, ...sizes.slice(0, index))));
    expect(Math.max(...sizes)).toBe(1_000);
  });

  it('starts where the previous one ended, even within the versions of a large file', async () => {
    const workspaceId = await workspaceOfOld(9_005, 4_500);
    const sizes = [7, 1, 1_000, 333];
    const taken: number[] = [];
    const ids: string[] = [];
    const next = (): number => sizes[taken.length % sizes.length]!;
    const walk = supersededVersions(service.app.get(Database), workspaceId, later(100 * DAY), next);
    for await (const { versionIds, versions } of walk) {
      taken.push(versions);
      const its = versionIds.slice(1, -1).split(',');
      expect(its).toHaveLength(versions);
      ids.push(...its);
    }
    const superseded = await service.database.query<{ id: string }>(
      'SELECT v.id FROM versions v JOIN files f ON f.id = v.file_id WHERE v.version < f.version ORDER BY file_id, change_cursor',
    );
    expect(ids).toEqual(superseded.map(({ id }) => id));
    expect(ids).toHaveLength(9_002);
  });

  it('does not grow after small ones, and shrinks when they are slow', async () => {
    const workspaceId = await workspaceOfOld(2);
    const clock = new WorkClock();
    const thinning = new LockedThinning(service.app.get(Database), clock, later(100 * DAY));
    const thinFive = (): Promise<unknown> => thinning.thin(workspaceId, { versionIds: '{}', versions: 5 });
    clock.costMs = 0.001;
    for (let small = 0; small < 10; small++) await thinFive();
    expect(thinning.batchSize).toBe(50);
    clock.costMs = 5;
    await thinFive();
    expect(thinning.batchSize).toBe(25);
  });

  it.each([
    ['versions of many files', 5, 0, 400],
    ['pinned versions of a file with a long log', 3_000, 2_500, 0],
  ])(
    'reads a few blocks for each version, although the tables had few rows when analyzed: %s',
    async (_, each, from, going) => {
      const { query } = service.database;
      await workspaceOfOld(2);
      await query('ANALYZE');
      const workspaceId = await workspaceOfOld(3_500, each);
      await query(
        `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
       SELECT $1, gen_random_uuid(), 'bGFiZWw', 'manual', cursor, now() FROM generate_series(2001, 3000) AS cursor`,
        [workspaceId],
      );
      const [asked] = await query<{ ids: string }>(
        `SELECT array_agg(id)::text AS ids FROM versions
       WHERE workspace_id = $1 AND change_cursor > $2 AND change_cursor <= $2 + 500`,
        [workspaceId, from],
      );
      const before = await blocksRead();
      const thinned = await service.app.get(Database).transaction(async (tx) => {
        await prepareThinning(tx);
        await tx.run(FLUSH, []);
        return thinVersions(tx, { workspaceId, versionIds: asked!.ids, notBefore: later(DAY) });
      });
      expect(thinned).toMatchObject({ versions: going, blobs: going });
      expect((await blocksRead()) - before).toBeLessThan(40 * 500); // 40 blocks for each
    },
  );

  it('is small after one that failed', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two']);
    const database = service.app.get(Database);
    const thinning = new LockedThinning(database, service.clock, later(2 * DAY));
    const noIds = { versionIds: '{no id}', versions: thinning.batchSize };
    await expect(thinning.thin(workspace.id, noIds)).rejects.toThrow();
    expect(thinning.batchSize).toBe(10);
  });
});

describe('the bytes of thinned versions', () => {
  const LARGE = Buffer.alloc(100_000, 'l');

  it('are removed from the database and the store 24 hours after the thinning and not before', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['small', LARGE, 'last']);
    service.clock.advance(2 * DAY);
    await retention.run(service.clock.now());
    expect(await sweep(DAY - 1)).toBe(0);
    expect(await footprint(service, workspace.id)).toMatchObject({
      versions: 1,
      blobs: 3,
      onDisk: [LARGE.length],
    });
    expect(await sweep(DAY)).toBe(2);
    expect(await footprint(service, workspace.id)).toMatchObject({ versions: 1, blobs: 1, onDisk: [] });
  });

  it('are kept for 24 hours by the clock even when the run is as of a past time', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two']);
    service.clock.advance(10 * DAY);
    await retention.run(later(-5 * DAY));
    expect(await sweep(DAY - 1)).toBe(0);
    expect(await sweep(DAY)).toBe(1);
  });

  it.each([
    ['small', 'content'],
    ['large', LARGE],
  ])('stay as long as any version refers to them, as a restored version does (%s)', async (_, content) => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', [content, 'between']);
    const [, source] = await workspace.versions('note');
    await workspace.restore('note', source!.id).expect(200);
    service.clock.advance(1);
    expect(await thin(2 * DAY)).toMatchObject({ versions: 2, blobs: 1 });
    expect(await sweep(4 * DAY)).toBe(1);
    expect((await workspace.get('note').expect(200)).body).toEqual(Buffer.from(content));

    await write(workspace, 'note', ['after']);
    expect(await thin(2 * DAY)).toMatchObject({ versions: 1, blobs: 1 });
    expect(await sweep(4 * DAY)).toBe(1);
    await scrub(service.database, service.dataDir);
    expect((await footprint(service, workspace.id)).blobs).toBe(1);
  });

  it('become live again when a version refers to them before the sweep', async () => {
    const workspace = await workspaceOf('alice');
    await write(workspace, 'note', ['one', 'two']);
    await thin(2 * DAY);
    await service.database.query(
      `UPDATE versions SET blob_id = (SELECT id FROM blobs WHERE state = 'dying') WHERE workspace_id = $1`,
      [workspace.id],
    );
    expect(await sweep(4 * DAY)).toBe(0);
    const states = await service.database.query('SELECT state FROM blobs ORDER BY id');
    expect(states[0]).toEqual({ state: 'live' });
  });
});

describe('retention that runs every night', () => {
  it('thins by hours, days and weeks, and ends with the result of a single run', async () => {
    const { query } = service.database;
    const start = service.clock.now();
    // For two days, two versions an hour.
    const operations = Array.from({ length: 96 }, (_, i): LoggedOperation => {
      return { file: 0, action: 'upsert', at: new Date(start.getTime() + (i * HOUR) / 2) };
    });
    const owner = await writeUser(query);
    const { versions } = await writeLog(query, owner, { operations });
    const left: number[] = [];
    for (let night = 2; night <= 40; night++) {
      await retention.runDue(new Date(start.getTime() + night * DAY));
      left[night] = (await remainingVersions(query)).size;
    }
    // Night 2: the second day is whole. 3, 7: both by hours. 8: the first by days. 9, 30: both. Then weeks.
    const nights = [2, 3, 7, 8, 9, 30, 31, 40].map((night) => left[night]);
    expect(nights).toEqual([72, 48, 48, 25, 2, 2, 1, 1]);
    const kept = await remainingVersions(query);
    expect(versions.map(({ id }) => kept.has(id)).lastIndexOf(true)).toBe(95);

    await query('TRUNCATE workspaces, blobs, files, versions, changes CASCADE');
    const again = await writeLog(query, owner, { operations });
    await retention.run(new Date(start.getTime() + 40 * DAY));
    const keptAtOnce = await remainingVersions(query);
    expect(again.versions.map(({ id }) => keptAtOnce.has(id))).toEqual(
      versions.map(({ id }) => kept.has(id)),
    );
  });
});
