import { randomUUID } from 'node:crypto';
import { Checkpoints } from '../../../src/domain/checkpoints/index.js';
import { lockLog, logDeletions } from '../../../src/domain/files/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { LockedThinning } from '../../../src/domain/retention/locked-thinning.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { RetentionQueue } from '../../../src/domain/retention/retention-queue.js';
import { versionsToThin } from '../../kit/retention-rule.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { uploadDirectly } from '../../kit/direct-upload.js';
import { remainingVersions, writeUser } from '../../kit/histories.js';
import { startService, type TestService } from '../../kit/index.js';
import { Random } from '../../kit/random.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;
const FIRST_SEED = Number(process.env['SEED'] ?? 1);
const START = new Date('2026-03-11T12:00:00.000Z');

/** Tables that a backup restores. */
const TABLES = ['workspaces', 'files', 'blobs', 'versions', 'changes', 'checkpoints'];
const QUEUE = ['retention_progress', 'retention_marks', 'retention_queue'];

let service: TestService;
let retention: Retention;
let owner: string;
let query: TestService['database']['query'];
beforeAll(async () => {
  service = await startService();
  retention = service.app.get(Retention);
  query = service.database.query;
  owner = await writeUser(query);
});
afterAll(() => service.close());
beforeEach(() => query('TRUNCATE workspaces, blobs, files, versions, changes, retention_progress CASCADE'));
afterEach(() => jest.restoreAllMocks());

const after = (ms: number): Date => new Date(START.getTime() + ms);

const faults = (): string[] =>
  service
    .logged()
    .split('\n')
    .filter((line) => line.includes('thin a workspace'));

async function newWorkspace(): Promise<string> {
  const id = randomUUID();
  await query(
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, 'x', now(), now())`,
    [id, owner],
  );
  return id;
}

const upload = (workspaceId: string, path: string, at: Date): Promise<void> =>
  uploadDirectly(service.database, { workspaceId, path, text: randomUUID(), at });

async function remove(workspaceId: string, path: string, now: Date): Promise<void> {
  const files = await query<{ id: string }>(
    'SELECT id FROM files WHERE workspace_id = $1 AND encrypted_path = $2 AND NOT is_deleted',
    [workspaceId, path],
  );
  await service.app.get(Database).transaction(async (tx) => {
    await lockLog(tx, workspaceId);
    const fileIds = files.map(({ id }) => id);
    if (files.length > 0) await logDeletions(tx, { workspaceId, deviceId: 'device', fileIds, now });
  });
}

interface Row {
  readonly id: string;
  readonly fileId: string;
  readonly createdAt: Date;
  readonly changeCursor: number;
  readonly isCurrent: boolean;
  readonly isPinned: boolean;
}

const allVersions = (): Promise<Row[]> =>
  query<Row>(
    `SELECT v.id, v.file_id AS "fileId", v.created_at AS "createdAt", v.change_cursor::int AS "changeCursor",
            f.version = v.version AS "isCurrent", EXISTS (
              SELECT FROM checkpoints p WHERE p.workspace_id = v.workspace_id AND v.change_cursor = (
                SELECT max(c.cursor) FROM changes c
                WHERE c.workspace_id = v.workspace_id AND c.file_id = v.file_id AND c.cursor <= p.cursor)
            ) AS "isPinned"
     FROM versions v JOIN files f ON f.workspace_id = v.workspace_id AND f.id = v.file_id`,
  );

/** The versions that the pure rule keeps. */
function leftByRule(rows: readonly Row[], now: Date): Set<string> {
  const left = new Set(rows.map(({ id }) => id));
  for (const fileId of new Set(rows.map((row) => row.fileId))) {
    const history = rows.filter((row) => row.fileId === fileId);
    const currentId = history.find(({ isCurrent }) => isCurrent)?.id ?? '';
    const pinnedIds = new Set(history.filter(({ isPinned }) => isPinned).map(({ id }) => id));
    for (const id of versionsToThin(history, { currentId, pinnedIds }, now)) left.delete(id);
  }
  return left;
}

/** The columns that can be written. */
async function columnsOf(table: string): Promise<string> {
  const [row] = await query<{ columns: string }>(
    `SELECT string_agg(column_name, ', ') AS columns FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  );
  return row!.columns;
}

async function save(): Promise<void> {
  await query('DROP SCHEMA IF EXISTS saved CASCADE; CREATE SCHEMA saved');
  for (const table of [...TABLES, ...QUEUE])
    await query(`CREATE TABLE saved.${table} AS SELECT ${await columnsOf(table)} FROM ${table}`);
}

/** Restores what was saved, like a backup, with advanced heads. A backup older than the queue has none. */
async function restore(hasQueue: boolean): Promise<void> {
  await query('TRUNCATE workspaces, blobs, files, versions, changes, retention_progress CASCADE');
  for (const table of hasQueue ? [...TABLES, ...QUEUE] : TABLES) {
    const columns = await columnsOf(table);
    await query(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM saved.${table}`);
  }
  await query('UPDATE workspaces SET head_cursor = head_cursor + 1000000');
}

/** Use of a service: uploads, deletions and checkpoints by any clock, other versions, restored backups. */
class AnyUse {
  private now = START;
  private isSaved = false;
  readonly workspaces: string[] = [];

  constructor(private readonly random: Random) {}

  /** Writes, and moves the time to the next night, by some weeks or back. @returns the new time */
  async live(): Promise<Date> {
    const { random } = this;
    if (this.workspaces.length < 3) this.workspaces.push(await newWorkspace());
    for (let writes = random.below(25); writes > 0; writes--) await this.write();
    if (random.next() < 0.5) await this.mark();
    if (random.next() < 0.15) await this.surprise();
    const steps = [HOUR, 23 * HOUR, DAY, DAY, DAY, 2 * DAY, 6 * DAY, 25 * DAY, 60 * DAY, -HOUR, -3 * DAY];
    this.now = new Date(this.now.getTime() + random.pick(steps) + random.pick([-1, 0, 1]));
    return this.now;
  }

  private async write(): Promise<void> {
    const { random } = this;
    const workspace = random.pick(this.workspaces);
    const path = `file-${random.below(4)}`;
    if (random.next() < 0.1) await remove(workspace, path, this.now);
    else await upload(workspace, path, this.time());
  }

  /** Mostly within the last day; also exactly at the edges of ages and buckets, and by wrong clocks. */
  private time(): Date {
    const { random } = this;
    const ago = (ms: number): number => this.now.getTime() - ms;
    const wrong = [ago(9 * DAY), ago(40 * DAY), ago(-2 * DAY), ago(-400 * DAY)];
    const edges = [ago(0), ago(DAY), ago(7 * DAY), ago(30 * DAY)].flatMap((edge) => [
      edge - 1,
      edge,
      edge + 1,
    ]);
    const kind = random.next();
    if (kind < 0.1) return new Date(random.pick(wrong));
    if (kind < 0.3) return new Date(random.pick(edges));
    if (kind < 0.5) return new Date(ago(random.below(DAY)) - (ago(0) % HOUR) + random.pick([-1, 0]));
    return new Date(ago(random.below(DAY)));
  }

  private async mark(): Promise<void> {
    const workspace = this.random.pick(this.workspaces);
    const checkpoints = service.app.get(Checkpoints);
    const existing = await query<{ id: string }>(
      'SELECT id FROM checkpoints WHERE workspace_id = $1 ORDER BY id',
      [workspace],
    );
    if (existing.length > 0 && this.random.next() < 0.5)
      await checkpoints.delete(workspace, this.random.pick(existing).id);
    else await checkpoints.create(workspace, 'bGFiZWw', 'auto');
  }

  private async surprise(): Promise<void> {
    const kind = this.random.below(4);
    // Another version of the service, with another rule, has run.
    if (kind === 0) await query(`UPDATE retention_marks SET rule = 'other'; TRUNCATE retention_queue`);
    if (kind === 1) {
      await save();
      this.isSaved = true;
    }
    if (kind > 1 && this.isSaved) {
      await restore(kind === 2);
      this.workspaces.splice(0);
      for (const { id } of await query<{ id: string }>('SELECT id FROM workspaces ORDER BY id'))
        this.workspaces.push(id);
    }
  }
}

describe('the nightly run', () => {
  it.each(Array.from({ length: 8 }, (_, index) => FIRST_SEED + index))(
    'keeps exactly what the rule keeps, whatever has happened since the last run (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      const use = new AnyUse(random);
      for (let night = 0; night < 30; night++) {
        const now = await use.live();
        // An aborted run before it, and two runs at once, have the result of one.
        if (random.next() < 0.2) {
          const stop = new AbortController();
          await retention.runDue(now, { signal: stop.signal, onWorkspace: () => stop.abort() });
        }
        const [progress] = await query<{ asOf: Date }>('SELECT as_of AS "asOf" FROM retention_progress');
        const furthest = progress ? new Date(progress.asOf.getTime() + 2 * DAY) : now;
        let there = await allVersions();
        const runs = Array.from({ length: random.next() < 0.2 ? 2 : 1 }, () => retention.runDue(now));
        const reports = await Promise.all(runs);
        for (const report of reports)
          expect({ ...report, faults: faults() }).toMatchObject({ failed: 0, isComplete: true, faults: [] });
        // A run that begins after the other has ended continues from there.
        const times = reports.map(({ asOf }) => asOf.getTime()).sort((a, b) => a - b);
        expect(times[0]).toBe(Math.min(now.getTime(), furthest.getTime()));
        for (const time of times) {
          const left = leftByRule(there, new Date(time));
          there = there.filter(({ id }) => left.has(id));
        }
        expect({ night, left: await remainingVersions(query) }).toEqual({
          night,
          left: new Set(there.map(({ id }) => id)),
        });
      }
    },
  );
});

describe('the nightly run visits', () => {
  const looked = (): jest.SpyInstance => jest.spyOn(RetentionQueue.prototype, 'settle');
  const visited = (): jest.SpyInstance => jest.spyOn(RetentionQueue.prototype, 'refresh');

  /** Writes two versions of the same hour in each file, which begins a second after the one before. */
  async function twoEach(workspaceId: string, files: number): Promise<void> {
    for (let file = 0; file < files; file++)
      for (const turn of [0, 1]) await upload(workspaceId, `file-${file}`, after(file * 1000 + turn));
  }

  it('no workspace in which nothing is due', async () => {
    for (let i = 0; i < 3; i++) await twoEach(await newWorkspace(), 2);
    await newWorkspace();
    const visits = visited();
    await retention.runDue(after(HOUR));
    expect(visits).toHaveBeenCalledTimes(3);
    await retention.runDue(after(2 * HOUR));
    await retention.runDue(after(DAY));
    expect(visits).toHaveBeenCalledTimes(3);
    expect(await retention.runDue(after(DAY + HOUR))).toMatchObject({ versions: 6 });
    expect(visits).toHaveBeenCalledTimes(6);
    expect(await query('SELECT FROM retention_queue')).toEqual([]);
  });

  it('files of which a version has crossed a border, and files that have changed', async () => {
    const workspaceId = await newWorkspace();
    await twoEach(workspaceId, 10);
    await upload(workspaceId, 'single', START);
    await retention.runDue(after(HOUR));
    const looks = looked();
    const files = (): number[] => looks.mock.calls.splice(0).map(([, its]) => (its as unknown[]).length);
    await retention.runDue(after(DAY + 3_001));
    expect(files()).toEqual([4]);
    await upload(workspaceId, 'single', after(DAY + 3_001));
    await upload(workspaceId, 'new', after(DAY + 3_001));
    await retention.runDue(after(DAY + 3_001));
    expect(files()).toEqual([1]);
  });

  it('files with pinned versions after a checkpoint is deleted, or after 30 days', async () => {
    const workspaceId = await newWorkspace();
    const checkpoints = service.app.get(Checkpoints);
    await upload(workspaceId, 'one', START);
    const first = await checkpoints.create(workspaceId, 'bGFiZWw', 'auto');
    await checkpoints.create(workspaceId, 'bGFiZWw', 'auto');
    await upload(workspaceId, 'one', after(1));
    await upload(workspaceId, 'two', after(1));
    await upload(workspaceId, 'two', after(2));
    await retention.runDue(after(2 * DAY));
    const looks = looked();
    await retention.runDue(after(3 * DAY));
    expect(looks).toHaveBeenCalledTimes(0);
    await checkpoints.delete(workspaceId, first.id);
    await retention.runDue(after(3 * DAY));
    expect(looks).toHaveBeenCalledTimes(1);
    expect(looks.mock.calls[0]![1]).toHaveLength(1);
    // As an instance of the previous version deletes it, without a note in the queue.
    await query('DELETE FROM checkpoints');
    await query('UPDATE retention_progress SET as_of = $1', [after(33 * DAY)]);
    expect(await retention.runDue(after(33 * DAY))).toMatchObject({ versions: 0 });
    expect(await retention.runDue(after(33 * DAY + 1))).toMatchObject({ versions: 1 });
  });
});

describe('a file that becomes due again while a run looks at it', () => {
  it('stays in the queue, even when another run has noted how far it has read the log', async () => {
    const workspaceId = await newWorkspace();
    for (const at of [0, 1]) await upload(workspaceId, 'one', after(at));
    const { thin } = LockedThinning.prototype;
    jest.spyOn(LockedThinning.prototype, 'thin').mockImplementationOnce(async function (
      this: LockedThinning,
      ...batch
    ) {
      const thinned = await thin.apply(this, batch);
      // In the same hour, so the newest version of the hour is now another one.
      await upload(workspaceId, 'one', after(2));
      await service.app.get(RetentionQueue).refresh(workspaceId, after(4 * DAY));
      return thinned;
    });
    expect(await retention.runDue(after(2 * DAY))).toMatchObject({ versions: 1 });
    expect(await retention.runDue(after(2 * DAY))).toMatchObject({ versions: 1 });
    expect(await query('SELECT FROM versions')).toHaveLength(1);
  });

  it('is thinned by the next run when another run has noted that it lost a pin', async () => {
    const workspaceId = await newWorkspace();
    const checkpoints = service.app.get(Checkpoints);
    await upload(workspaceId, 'one', START);
    const { id } = await checkpoints.create(workspaceId, 'bGFiZWw', 'auto');
    await upload(workspaceId, 'one', after(1));
    const { filesOf } = RetentionQueue.prototype;
    jest.spyOn(RetentionQueue.prototype, 'filesOf').mockImplementationOnce(async function (
      this: RetentionQueue,
      ...versions
    ) {
      const files = await filesOf.apply(this, versions);
      await checkpoints.delete(workspaceId, id);
      await this.refresh(workspaceId, after(4 * DAY));
      return files;
    });
    expect(await retention.runDue(after(2 * DAY))).toMatchObject({ versions: 0 });
    expect(await retention.runDue(after(2 * DAY))).toMatchObject({ versions: 1 });
  });
});

describe('the queue of a deleted workspace', () => {
  it('is removed with it', async () => {
    const workspaceId = await newWorkspace();
    for (const at of [0, 1]) await upload(workspaceId, 'one', after(at));
    await retention.runDue(after(HOUR));
    expect(await query('SELECT FROM retention_queue')).toHaveLength(1);
    await query('UPDATE workspaces SET deleted_at = now()');
    await service.app.get(WorkspacePurge).finish();
    for (const table of ['workspaces', 'retention_queue', 'retention_marks'])
      expect(await query(`SELECT FROM ${table}`)).toEqual([]);
  });
});
