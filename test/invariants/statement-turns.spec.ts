import type { DataSource } from 'typeorm';
import { createDataSource, Database, statement, Turns } from '../../src/platform/database/index.js';
import { createDatabase, type TestDatabase } from '../kit/index.js';

const POOL_SIZE = 10;
const lock = statement('test.lock', 'SELECT pg_advisory_xact_lock(1)');
const quick = statement('test.quick', 'SELECT $1::int AS n');
const broken = statement('test.broken_turn', 'SELECT 1 / $1::int');

describe('statements where the database shares the machine', () => {
  let empty: TestDatabase;
  let source: DataSource;

  beforeAll(async () => (empty = await createDatabase({ isEmpty: true })));
  beforeEach(async () => {
    const settings = { poolSize: POOL_SIZE, entities: [], onPoolError: () => undefined };
    source = await createDataSource({ target: empty.url, ...settings }).initialize();
  });
  afterEach(() => source.destroy());
  afterAll(() => empty.drop());

  it('take turns: no more than these open connections, and each has its own answer', async () => {
    const database = new Database(source, new Turns(2, 60_000));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => database.run<{ n: number }>(quick, [n])),
    );
    expect(answers.map(([row]) => row?.n)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(database.pool.totalCount).toBe(2);
  });

  it('give their turn on when they fail', async () => {
    const database = new Database(source, new Turns(1, 60_000));
    for (let i = 0; i < 3; i++) await expect(database.run(broken, [0])).rejects.toThrow('division by zero');
    expect(await database.run(quick, [1])).toEqual([{ n: 1 }]);
  });

  it('do not wait for long behind those that wait for a lock', async () => {
    const database = new Database(source, new Turns(2));
    let held: Promise<unknown>[] = [];
    await database.transaction(async (tx) => {
      await tx.run(lock, []);
      held = [database.run(lock, []), database.run(lock, [])];
      expect(await database.run(quick, [1])).toEqual([{ n: 1 }]);
    });
    await Promise.all(held);
  });
});
