import {
  AmbiguousCommit,
  createDataSource,
  Database,
  statement,
  StatementLimiter,
} from '../../../src/platform/database/index.js';
import { createDatabase, startService, type TestService } from '../../kit/index.js';

const insert = statement('test.insert', 'INSERT INTO notes (text) VALUES ($1)');
const broken = statement('test.broken', 'SELECT 1 / $1::int');
const count = statement('test.count_rows', 'SELECT count(*) AS count FROM notes');

describe('a transaction', () => {
  let service: TestService;
  let database: Database;

  beforeAll(async () => {
    service = await startService();
    database = service.app.get(Database);
    await service.database.query('CREATE TABLE notes (text text)');
  });
  beforeEach(() => service.database.query('TRUNCATE notes'));
  afterAll(() => service.close());

  const notes = async (): Promise<number> => {
    const [row] = await database.run<{ count: number }>(count, []);
    return row!.count;
  };

  it('is committed when it resolves, and returns counts as numbers', async () => {
    expect(await database.transaction(async (tx) => (await tx.run(insert, ['a'])).length)).toBe(0);
    expect(await notes()).toBe(1);
  });

  it('is rolled back when its work throws', async () => {
    const work = database.transaction(async (tx) => {
      await tx.run(insert, ['a']);
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await notes()).toBe(0);
  });

  it('never resolves when PostgreSQL answers COMMIT with ROLLBACK, as it does after a swallowed error', async () => {
    const work = database.transaction(async (tx) => {
      await tx.run(insert, ['a']);
      await tx.run(broken, [0]).catch(() => undefined);
    });
    await expect(work).rejects.toThrow(/ended with ROLLBACK/);
    expect(await notes()).toBe(0);
  });

  it('runs again after a serialization failure and after a connection lost before COMMIT', async () => {
    let attempts = 0;
    await database.transaction(async (tx) => {
      await tx.run(insert, ['a']);
      attempts++;
      if (attempts === 1)
        await tx.run(statement('test.fail_in_transaction', `DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`), []);
      if (attempts === 2)
        await tx.run(statement('test.die', 'SELECT pg_terminate_backend(pg_backend_pid())'), []);
    });
    expect(attempts).toBe(3);
    expect(await notes()).toBe(1);
  });

  it('is not run again when the answer to COMMIT is lost: it may have happened', async () => {
    await service.database.query(`
      CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER die_at_commit AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION die()`);
    let attempts = 0;
    const work = database.transaction(async (tx) => {
      attempts++;
      await tx.run(insert, ['a']);
    });
    await expect(work).rejects.toBeInstanceOf(AmbiguousCommit);
    expect(attempts).toBe(1);
    await service.database.query('DROP TRIGGER die_at_commit ON notes');
  });

  it('returns its connection to the pool when it fails', async () => {
    for (let i = 0; i < 30; i++) {
      await database.transaction((tx) => tx.run(broken, [0])).catch(() => undefined);
    }
    expect(await notes()).toBe(0);
  });

  it('that is a snapshot sees one state and cannot write', async () => {
    await database.snapshot(async (tx) => {
      const before = await tx.run(count, []);
      await database.run(insert, ['meanwhile']);
      expect(await tx.run(count, [])).toEqual(before);
    });
    await expect(database.snapshot((tx) => tx.run(insert, ['no']))).rejects.toThrow(/read-only/);
  });
});

it('a lost connection of the pool is logged, except while the pool ends', async () => {
  const database = await createDatabase({ isEmpty: true });
  const told: unknown[] = [];
  const settings = { poolSize: 2, entities: [], onPoolError: (error: unknown) => told.push(error) };
  try {
    const source = await createDataSource({ target: database.url, ...settings }).initialize();
    const { pool } = new Database(source, new StatementLimiter({ atOnce: Infinity }));
    const lost = new Error('terminating connection due to administrator command');
    pool.emit('error', lost);
    const ended = source.destroy();
    pool.emit('error', lost);
    await ended;
    pool.emit('error', lost);
    expect(told).toEqual([lost]);
  } finally {
    await database.drop();
  }
});
