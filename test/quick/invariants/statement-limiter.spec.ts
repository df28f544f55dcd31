import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApp } from '../../../src/app.js';
import { loadConfiguration } from '../../../src/platform/config/index.js';
import {
  createDataSource,
  type ServiceDataSource,
  Database,
  statement,
  StatementLimiter,
} from '../../../src/platform/database/index.js';
import { createLogger, Log } from '../../../src/platform/log.js';
import { Workspaces } from '../../../src/domain/workspaces/index.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';

const quick = statement('test.quick', 'SELECT $1::int AS n');
const broken = statement('test.broken_turn', 'SELECT 1 / $1::int');
const lock = statement('test.lock', 'SELECT pg_advisory_xact_lock(1)');
const held = statement('test.held', `SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock(1)`);
const PATIENCE_MS = 50;

/** Stands for a statement that runs until `end` is called. */
function endless(): { readonly work: () => Promise<void>; readonly end: () => void } {
  let end = (): void => undefined;
  const work = new Promise<void>((resolve) => (end = resolve));
  return { work: () => work, end };
}

describe('single statements on the service’s own PostgreSQL', () => {
  let empty: TestDatabase;
  let source: ServiceDataSource;

  beforeAll(async () => (empty = await createDatabase({ isEmpty: true })));
  beforeEach(async () => {
    const settings = { poolSize: 10, entities: [], onPoolError: () => undefined };
    source = await createDataSource({ target: empty.url, ...settings }).initialize();
  });
  afterEach(() => source.destroy());
  afterAll(() => empty.drop());

  it('take turns: no more connections are opened than allowed, and each gets its own answer', async () => {
    const database = new Database(source, new StatementLimiter({ atOnce: 2, patienceMs: 60_000 }));
    const reads = Array.from({ length: 40 }, (_, n) => database.run<{ n: number }>(quick, [n]));
    expect(database.waiting).toBeGreaterThanOrEqual(38);
    const answers = await Promise.all(reads);
    expect(answers.map(([row]) => row?.n)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(database.pool.totalCount).toBe(2);
    expect(database.waiting).toBe(0);
  });

  it('pass their turn on when they fail', async () => {
    const database = new Database(source, new StatementLimiter({ atOnce: 1, patienceMs: 60_000 }));
    for (let i = 0; i < 3; i++) await expect(database.run(broken, [0])).rejects.toThrow('division by zero');
    expect(await database.run(quick, [1])).toEqual([{ n: 1 }]);
  });

  it('do not wait for long behind slow ones', async () => {
    const database = new Database(source, new StatementLimiter({ atOnce: 2, patienceMs: PATIENCE_MS }));
    let areSlowOver = false;
    let slow: Promise<unknown> = Promise.resolve();
    await database.transaction(async (tx) => {
      await tx.run(lock, []);
      slow = Promise.all([database.run(held, []), database.run(held, [])]).then(() => (areSlowOver = true));
      expect(await database.run(quick, [1])).toEqual([{ n: 1 }]);
      expect(areSlowOver).toBe(false);
    });
    await slow;
  });

  it('keep their turns when a pause of the process has made all of them wait too long', async () => {
    const patienceMs = 1_000;
    const limiter = new StatementLimiter({ atOnce: 1, patienceMs });
    const first = endless();
    const held = limiter.run(first.work);
    let haveGone = 0;
    const rest = Array.from({ length: 5 }, () => limiter.run(() => Promise.resolve(haveGone++)));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * patienceMs);
    await pause(1); // lets due timers fire
    expect(haveGone).toBe(0);
    first.end();
    await Promise.all([held, ...rest]);
    expect(haveGone).toBe(5);
  });

  it('run one more at a time than there are processors, when the service runs its own server', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sync-turns-'));
    const configuration = loadConfiguration({ NODE_ENV: 'test', DATA_DIR: dataDir, LOG_LEVEL: 'error' });
    const app = await createApp(configuration, { log: new Log(createLogger('error')) });
    try {
      const database = app.get(Database);
      const asked = 10 * availableParallelism();
      const takeTurns = async (ask: () => Promise<unknown>): Promise<void> => {
        const asks = Promise.all(Array.from({ length: asked }, ask));
        const inLine = database.waiting - database.pool.waitingCount;
        await asks;
        const expected = asked - availableParallelism() - 1;
        expect(inLine).toBeGreaterThanOrEqual(expected);
        expect(inLine).toBeLessThan(expected + availableParallelism()); // some may be running
      };
      await takeTurns(() => database.run(quick, [1]));
      // The admission of a socket runs this, and after a restart all sockets come back at once.
      const workspaces = app.get(Workspaces);
      const owner = { userId: randomUUID(), workspaceId: null };
      await takeTurns(() =>
        expect(workspaces.requireOwned(randomUUID(), owner)).rejects.toThrow('workspace not found'),
      );
    } finally {
      await app.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
