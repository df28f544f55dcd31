import { createLogger, Log as ServiceLog } from '../../../src/platform/log.js';
import { createDataSource, Database, StatementLimiter } from '../../../src/platform/database/index.js';
import { versionsToThin } from '../../kit/retention-rule.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { RetentionProgress } from '../../../src/domain/retention/history-walk.js';
import { RetentionQueue } from '../../../src/domain/retention/retention-queue.js';
import { WorkspaceEntity } from '../../../src/domain/workspaces/index.js';
import {
  type LoggedOperation,
  remainingVersions,
  writeLog,
  writeUser,
  type WrittenVersion,
} from '../../kit/histories.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';
import { MovableClock } from '../../kit/movable-clock.js';
import { ADMIN, runProcess } from '../../kit/process.js';
import { Random } from '../../kit/random.js';
import { itDeep } from '../../kit/rounds.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;
const FIRST_SEED = Number(process.env['SEED'] ?? 1);

/** Times at edges of the calendar, at which some time zones are within another day or hour. */
const TIMES = [
  '2024-02-29T23:59:59.999Z',
  '2024-03-31T00:00:00.000Z', // 30 days after a leap day's end; clocks go forward in Europe
  '2020-12-31T23:30:00.000Z', // in week 53
  '2021-01-04T00:00:00.000Z', // the first ISO week of 2021 begins
  '2026-01-01T00:00:00.000Z',
  '2026-02-14T06:00:00.000Z', // the week in which the year began is thinned by the week
  '2026-11-01T05:59:59.999Z', // clocks go back in America
  '2027-07-14T12:34:56.789Z',
].map((text) => new Date(text));

let database: TestDatabase;
let own: Database;
let retention: Retention;
let userId: string;

beforeAll(async () => {
  database = await createDatabase();
  // Neither UTC nor whole hours: a rule that used the zone of the session would have other buckets.
  await database.query(`ALTER DATABASE ${database.name} SET timezone = 'Australia/Eucla'`);
  const settings = {
    poolSize: 2,
    entities: [RetentionProgress, WorkspaceEntity],
    onPoolError: () => undefined,
  };
  own = new Database(
    await createDataSource({ target: database.url, ...settings }).initialize(),
    new StatementLimiter({ atOnce: Infinity }),
  );
  retention = new Retention(
    own,
    new MovableClock(),
    new ServiceLog(createLogger('silent')),
    new RetentionQueue(own),
    own.dataSource.getRepository(RetentionProgress),
    own.dataSource.getRepository(WorkspaceEntity),
  );
  userId = await writeUser(database.query);
});
afterAll(async () => {
  await own.dataSource.destroy();
  await database.drop();
});
beforeEach(() => database.query('TRUNCATE checkpoints, changes, versions, files, blobs, workspaces CASCADE'));

describe('the rule, in words', () => {
  const now = new Date('2026-03-31T12:00:00.000Z');
  const ago = (ms: number): Date => new Date(now.getTime() - ms);

  /** The ages of the versions of a file that are kept. @param pinned indexes into `ages` */
  function left(ages: number[], pinned: number[] = []): number[] {
    const history = ages.map((age, i) => ({ id: String(i), createdAt: ago(age), changeCursor: i + 1 }));
    const exempt = { currentId: String(ages.length - 1), pinnedIds: new Set(pinned.map(String)) };
    const gone = versionsToThin(history, exempt, now);
    return ages.filter((_, i) => !gone.includes(String(i)));
  }

  it('keeps everything for the first 24 hours, the last millisecond of them included', () => {
    expect(left([DAY, DAY - 1, DAY - 2, 3, 2, 1])).toEqual([DAY, DAY - 1, DAY - 2, 3, 2, 1]);
    expect(left([DAY + 2, DAY + 1, 1])).toEqual([DAY + 1, 1]);
  });

  it('keeps the newest of each UTC hour through 7 days', () => {
    const hourBefore = 2 * DAY + HOUR;
    expect(left([hourBefore, hourBefore - 1, hourBefore - HOUR + 1, hourBefore - HOUR, 0])).toEqual([
      hourBefore - HOUR + 1,
      hourBefore - HOUR,
      0,
    ]);
  });

  it('keeps the newest of each UTC day through 30 days', () => {
    const midnight = 10 * DAY + 12 * HOUR;
    expect(left([midnight + 1, midnight, midnight - 5 * HOUR, midnight - DAY + 1, 0])).toEqual([
      midnight + 1,
      midnight - DAY + 1,
      0,
    ]);
  });

  it('keeps the newest of each ISO week after that, which begins on Monday and does not end with the year', () => {
    const ages = ['2025-12-28T23:59:59.999Z', '2025-12-29T00:00:00.000Z', '2025-12-31T23:59:59.999Z'];
    const more = ['2026-01-01T00:00:00.000Z', '2026-01-04T23:59:59.999Z', '2026-01-05T00:00:00.000Z'];
    const all = [...ages, ...more].map((at) => now.getTime() - Date.parse(at));
    expect(left([...all, 0])).toEqual([all[0], all[4], all[5], 0]);
  });

  it('counts current and pinned versions in their bucket', () => {
    const hour = 2 * DAY;
    expect(left([hour + 3, hour + 2, hour + 1])).toEqual([hour + 1]);
    expect(left([hour + 3, hour + 2, hour + 1, 0], [2])).toEqual([hour + 1, 0]);
    expect(left([hour + 3, hour + 2, hour + 1, 0], [0])).toEqual([hour + 3, hour + 1, 0]);
  });

  it('takes the version with the higher cursor as the newer one, whatever the clock said', () => {
    expect(left([2 * DAY + 1, 2 * DAY + 3, 2 * DAY + 2])).toEqual([2 * DAY + 2]);
    expect(left([-DAY, 2 * DAY, 2 * DAY])).toEqual([-DAY, 2 * DAY]);
  });
});

describe('the statement does what the rule says', () => {
  it.each(TIMES)('on all pairs of versions around every edge, as of %s', async (now) => {
    const moments = momentsAround(now);
    const operations = moments.flatMap((older, i) =>
      moments.flatMap((newer, j) => {
        const file = i * moments.length + j;
        return [older, newer].map((at): LoggedOperation => ({ file, action: 'upsert', at }));
      }),
    );
    // A third version is current, so that the two are judged by their buckets.
    const files = moments.length ** 2;
    for (let file = 0; file < files; file++) operations.push({ file, action: 'upsert', at: now });
    const { versions } = await writeLog(database.query, userId, { operations });
    const { versions: thinned } = await retention.run(now);
    const gone = goneBy(versions, now);
    expect(await remainingVersions(database.query)).toEqual(without(versions, gone));
    expect(thinned).toBe(gone.size);
    expect(gone.size).toBeGreaterThan(files / 20);
  });

  it('on a workspace that has grown since ANALYZE, within the time limit of statements', async () => {
    const now = TIMES[0]!;
    const few: LoggedOperation[] = [1, 2, 3].map((days) => {
      return { file: 0, action: 'upsert', at: new Date(now.getTime() - days * DAY) };
    });
    await writeLog(database.query, userId, { operations: few });
    await database.query('ANALYZE');
    const many = Array.from({ length: 6000 }, (_, i): LoggedOperation => {
      return { file: i % 1000, action: 'upsert', at: new Date(now.getTime() - 3 * DAY - (i % 7) * 1000) };
    });
    const { versions } = await writeLog(database.query, userId, { operations: many });
    const { versions: thinned, failed } = await retention.run(now);
    expect(failed).toBe(0); // a statement that takes 10 s is ended by the server
    expect(thinned).toBe(goneBy(versions, now).size);
  });

  itDeep('on 3,000 histories of any kind, whether they were thinned before or not', async () => {
    for (const [index, now] of TIMES.entries()) {
      const all: WrittenVersion[] = [];
      for (let i = 0; i < 15; i++) {
        const random = new Random(FIRST_SEED + 100 * index + i);
        all.push(...(await writeLog(database.query, userId, anyLog(random, now))).versions);
      }
      const earlier = [40 * DAY, 9 * DAY, 8 * DAY + 1, 2 * HOUR].map((ms) => new Date(now.getTime() - ms));
      for (const time of index % 2 ? earlier : []) await retention.run(time);
      const foreseen = await retention.run(now, { isDryRun: true });
      const done = await retention.run(now);
      expect(done.versions).toBe(foreseen.versions);
      expect(await remainingVersions(database.query)).toEqual(without(all, goneBy(all, now)));
      expect((await retention.run(now)).versions).toBe(0);
      await database.query('TRUNCATE checkpoints, changes, versions, files, blobs, workspaces CASCADE');
    }
  });

  itDeep.each(['America/St_Johns', 'Pacific/Kiritimati'])(
    'in a process and on a database with the time zone %s',
    async (zone) => {
      await database.query(`ALTER DATABASE ${database.name} SET timezone = '${zone}'`);
      const now = TIMES[0]!;
      const { versions } = await writeLog(database.query, userId, anyLog(new Random(FIRST_SEED), now));
      const env = { TZ: zone, DATABASE_URL: database.url, DATA_DIR: '/nowhere' };
      const args = ['--json', 'retention', 'run', '--now', now.toISOString().replace('Z', '')];
      const { output } = await runProcess(env, ADMIN, args);
      expect(JSON.parse(output)).toMatchObject({ dryRun: false, versions: goneBy(versions, now).size });
      expect(await remainingVersions(database.query)).toEqual(without(versions, goneBy(versions, now)));
    },
  );
});

/** The borders between the ages and between the buckets near them, and the milliseconds beside them. */
function momentsAround(now: Date): Date[] {
  const borders = [DAY, 7 * DAY, 30 * DAY].map((age) => now.getTime() - age);
  const starts = borders.flatMap((border) => {
    const [hour, day] = [border - (border % HOUR), border - (border % DAY)];
    const monday = day - ((Math.floor(day / DAY) + 3) % 7) * DAY;
    return [hour, hour - HOUR, day, monday];
  });
  const newYear = Date.UTC(new Date(borders[2]!).getUTCFullYear(), 0, 1);
  const edges = [...borders, ...starts, starts[3]! - 5 * 7 * DAY, newYear];
  const times = edges.flatMap((edge) => [edge - 1, edge, edge + 1]);
  return [...new Set(times)].map((time) => new Date(time));
}

/** A log of thirty files: versions of all ages, clocks that were set back, deletions, checkpoints, legacy rows. */
function anyLog(random: Random, now: Date): { operations: LoggedOperation[]; checkpoints: number[] } {
  const moments = momentsAround(now);
  const anyTime = (): Date => {
    if (random.next() < 0.3) return random.pick(moments);
    const age = Math.exp(random.next() * Math.log(90 * DAY)); // as many within minutes as within months
    return new Date(now.getTime() - Math.floor(age));
  };
  const times = Array.from({ length: 300 }, anyTime);
  if (random.next() < 0.7) times.sort((a, b) => a.getTime() - b.getTime());
  const operations = times.map((at): LoggedOperation => ({
    file: random.below(30),
    action: random.next() < 0.1 ? 'delete' : 'upsert',
    at,
    isLegacy: random.next() < 0.03,
  }));
  const seen = new Set<number>();
  const sensible = operations.filter(
    ({ file, action }) => seen.has(file) || (action === 'upsert' && seen.add(file)),
  );
  const checkpoints = Array.from({ length: random.below(6) }, () => random.below(sensible.length + 1));
  return { operations: sensible, checkpoints };
}

/** The versions that the rule removes, file by file. */
function goneBy(versions: readonly WrittenVersion[], now: Date): Set<string> {
  const files = new Map<string, WrittenVersion[]>();
  for (const version of versions) {
    const history = files.get(version.fileId);
    if (history) history.push(version);
    else files.set(version.fileId, [version]);
  }
  return new Set(
    [...files.values()].flatMap((history) =>
      versionsToThin(
        history,
        {
          currentId: history.find(({ isCurrent }) => isCurrent)?.id ?? '',
          pinnedIds: new Set(history.filter(({ isPinned }) => isPinned).map(({ id }) => id)),
        },
        now,
      ),
    ),
  );
}

function without(versions: readonly WrittenVersion[], gone: Set<string>): Set<string> {
  return new Set(versions.map(({ id }) => id).filter((id) => !gone.has(id)));
}
