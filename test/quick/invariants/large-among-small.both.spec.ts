import { randomBytes } from 'node:crypto';
import { insertLargeLog } from '../../../bench/large-log.js';
import { projectionStatements } from '../../../src/domain/checkpoints/checkpoints.queries.js';
import type { Manifest, Summary } from '../../../src/domain/checkpoints/projections.js';
import { fileStatements } from '../../../src/domain/files/files.queries.js';
import { Database, newId, PlannerStatistics } from '../../../src/platform/database/index.js';
import { syncStatements } from '../../../src/domain/sync/sync.queries.js';
import {
  sha256,
  startService,
  stopIntervals,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { describeDeep, firstOf } from '../../kit/rounds.js';

const SMALL = { files: 10, changes: 20 };
const LARGE = { files: 20_000, changes: 40_000 };
const LIVE = LARGE.files * 0.9;
const SETTLED_AFTER = 8;

/**
 * PostgreSQL keeps a prepared statement's plan after five runs, made from statistics of small workspaces.
 * A nested loop is cheapest for these, but takes minutes in a large one, where it ends with 503 after 10 s.
 */
describe.each(firstOf(1, ['never analyzed', 'analyzed']))(
  'a workspace that outgrows its tables (%s)',
  (state) => {
    let service: TestService;
    let alice: TestUser;
    beforeAll(async () => {
      service = await startService({ env: { DATABASE_POOL_SIZE: '2', LOG_LEVEL: 'silent' } });
      stopIntervals(service); // among them is the analysis of growing tables
      alice = await service.user('alice');
    });
    afterAll(() => service.close());

    it('is projected in time, whatever plans were made before', async () => {
      const large = await alice.workspace('large');
      const beginning = await large.checkpoint();
      for (let i = 0; i < 3; i++) await projectOften(await filled(alice, service, SMALL), state);
      await fill(large, service, LARGE);
      const now = await large.checkpoint();
      expect(await manifest(large, now.id)).toEqual({
        expectedHeadCursor: LARGE.changes,
        ops: { noop: LIVE },
      });
      expect((await manifest(large, beginning.id)).ops).toEqual({ delete: LIVE });
      const deleted = LARGE.files - LIVE;
      expect(await summary(large, now.id)).toEqual({ created: LIVE, deleted });
      expect(await summary(large, now.id, LARGE.changes / 2)).toEqual({ modified: LIVE, deleted });
      expect(await summary(large, now.id, LARGE.changes - 10)).toEqual({ modified: 9, deleted: 1 });
    });

    /** Projects on both connections until their plans are settled. */
    async function projectOften(small: TestWorkspace, tables: string): Promise<void> {
      if (tables === 'analyzed') await service.database.query('ANALYZE');
      const { id } = await small.checkpoint();
      const settle = async (): Promise<void> => {
        for (let i = 0; i < SETTLED_AFTER; i++) {
          await manifest(small, id);
          await summary(small, id);
        }
      };
      await Promise.all([settle(), settle()]);
    }
  },
);

describeDeep('a large workspace among many small ones', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'silent' } });
  });
  afterAll(() => service.close());

  it('does not make a pull read more than ten rows for each row of its page', async () => {
    const alice = await service.user('alice');
    for (let i = 0; i < 200; i++) await filled(alice, service, SMALL);
    await service.database.query('ANALYZE');
    const large = await filled(alice, service, LARGE);

    await service.app.get(Database).transaction(async ({ manager }) => {
      await manager.query('SET LOCAL plan_cache_mode = force_generic_plan');
      await manager.query(`PREPARE pull (uuid, bigint, integer) AS ${syncStatements.pull.text}`);
      const [{ 'QUERY PLAN': plans }] = await manager.query<[{ 'QUERY PLAN': [{ Plan: PlanNode }] }]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE pull ('${large.id}', ${LARGE.changes / 2}, 1001)`,
      );
      expect(rowsTouched(plans[0].Plan)).toBeLessThan(10 * 1001);
    });
  });
});

describe('the number of rows that a statement reads', () => {
  const FEW = 200;
  let service: TestService;
  let large: TestWorkspace;
  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'silent' } });
    const alice = await service.user('alice');
    large = await filled(alice, service, LARGE);
    // A file with a long history, whose first and last change are of another device.
    const { query } = service.database;
    await query(
      `UPDATE changes SET action = 'upsert', changed_by_device = CASE WHEN cursor % 2 = 1 THEN 'phone' ELSE 'laptop' END,
         file_id = (SELECT id FROM files WHERE workspace_id = $1 ORDER BY id LIMIT 1)
       WHERE workspace_id = $1 AND cursor <= ${LARGE.files}`,
      [large.id],
    );
    await query('VACUUM (ANALYZE) changes, files');
  });
  afterAll(() => service.close());

  async function rowsOf({ text }: { text: string }, types: string, values: string): Promise<number> {
    return service.app.get(Database).transaction(async ({ manager }) => {
      await manager.query(`PREPARE one (${types}) AS ${text}`);
      const [{ 'QUERY PLAN': plans }] = await manager.query<[{ 'QUERY PLAN': [{ Plan: PlanNode }] }]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE one (${values})`,
      );
      await manager.query('DEALLOCATE one');
      return rowsTouched(plans[0].Plan);
    });
  }

  it('depends on the changes in a summary, not on the length of the log before them', async () => {
    const values = `'${large.id}', ${LARGE.changes - 10}, ${LARGE.changes}, 10`;
    const rows = await rowsOf(projectionStatements.smallSummary, 'uuid, bigint, bigint, bigint', values);
    expect(rows).toBeLessThan(FEW);
  });

  it('depends on the answer to a push with base 0, not on the history of its file', async () => {
    const [file] = await service.database.query<{ id: string }>('SELECT id FROM files ORDER BY id LIMIT 1');
    const values = `'${large.id}', '{${file!.id}}', 0, 'laptop'`;
    expect(await rowsOf(syncStatements.changesSince, 'uuid, uuid[], bigint, text', values)).toBeLessThan(FEW);
  });
});

describe('an upload into a workspace that has grown since its plans were made', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'silent' } });
    stopIntervals(service);
  });
  afterAll(() => service.close());

  it('reads fewer than a hundred rows, foreign keys included', async () => {
    const alice = await service.user('alice');
    const [small, large] = [await alice.workspace(), await alice.workspace()];
    const connection = await service.app.get(Database).pool.connect();
    const rowsRead = async (): Promise<number> => {
      const { rows } = await connection.query<{ read: number }>(
        'SELECT sum(idx_tup_fetch + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables',
      );
      return rows[0]?.read ?? Number.NaN;
    };
    try {
      for (let i = 0; i < 60; i++) await connection.query(uploadTo(small.id));
      await service.database.query('ANALYZE');
      for (let i = 0; i < SETTLED_AFTER; i++) await connection.query(uploadTo(small.id));
      await insertLargeLog((sql, values) => service.database.query(sql, values), large.id, LARGE);

      await service.app.get(PlannerStatistics).keepUp();
      await connection.query('BEGIN');
      const before = await rowsRead();
      await connection.query(uploadTo(large.id));
      const after = await rowsRead();
      await connection.query('COMMIT');
      expect(after - before).toBeLessThan(100);
    } finally {
      connection.release();
    }
  });

  it('has new statistics even when the analysis of another table fails', async () => {
    await service.database.query(`
      CREATE FUNCTION length_of(text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN length($1); END'`);
    for (const name of ['a broken one', 'growing', 'z broken one']) {
      await service.database.query(`CREATE TABLE "${name}" (x text)`);
      if (name !== 'growing') await service.database.query(`CREATE INDEX ON "${name}" (length_of(x))`);
      await service.database.query(
        `INSERT INTO "${name}" SELECT repeat('x', 1000) FROM generate_series(1, 500)`,
      );
    }
    await service.database.query(`
      CREATE OR REPLACE FUNCTION length_of(text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'no length'; END $$`);
    await service.app.get(PlannerStatistics).keepUp();
    const analyzed = await service.database.query(
      `SELECT relname AS name FROM pg_class WHERE relname ~ 'broken one$|^growing$' AND reltuples > 0`,
    );
    expect(analyzed).toEqual([{ name: 'growing' }]);
  });

  /** Whole rows are sampled: the usual 30,000, with small contents inline, would take 62 MiB. */
  it('has statistics of blobs from a sample of 3,000 rows', async () => {
    const workspace = await (await service.user('bob')).workspace();
    await service.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
       SELECT $1, gen_random_uuid(), 'live', 'inline', 1, repeat('0', 64), 'x', now() FROM generate_series(1, 3100)`,
      [workspace.id],
    );
    const connection = await service.app.get(Database).pool.connect();
    const said: (string | undefined)[] = [];
    connection.on('notice', ({ message }) => said.push(message));
    await connection.query('ANALYZE (VERBOSE) blobs').finally(() => connection.release(true));
    expect(said.join()).toMatch(/ 3000 rows in sample/);
  });

  const uploadTo = (workspaceId: string) => {
    const [path, hash] = [randomBytes(30).toString('base64url'), sha256('')];
    const ids = [newId(), newId(), newId()];
    const now = new Date();
    const columns = [path, hash, 0, 'laptop', now, ...ids].map((value) => [value]);
    const values = [workspaceId, ...columns, Buffer.alloc(0), [0], [null], [false]];
    return { ...fileStatements.put, values: [...values, null, now, null, null] };
  };
});

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: PlanNode[];
}

/** All rows that any part of a plan has produced or discarded. */
function rowsTouched(node: PlanNode): number {
  const each =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsTouched(child), each * node['Actual Loops']);
}

async function filled(user: TestUser, service: TestService, size: typeof LARGE): Promise<TestWorkspace> {
  const workspace = await user.workspace();
  await fill(workspace, service, size);
  return workspace;
}

function fill({ id }: TestWorkspace, { database }: TestService, size: typeof LARGE): Promise<void> {
  return insertLargeLog((sql, values) => database.query(sql, values), id, size);
}

async function manifest(
  { user, path }: TestWorkspace,
  id: string,
): Promise<{ expectedHeadCursor: number; ops: Record<string, number> }> {
  const { body } = await user.get(`${path}/checkpoints/${id}/restore-manifest`).expect(200);
  const { expectedHeadCursor, entries } = body as Manifest;
  return { expectedHeadCursor, ops: tally(entries.map(({ op }) => op)) };
}

async function summary(
  { user, path }: TestWorkspace,
  id: string,
  fromCursor = 0,
): Promise<Record<string, number>> {
  const request = user.get(`${path}/checkpoints/${id}/summary`).query({ fromCursor });
  const { entries } = (await request.expect(200)).body as Summary;
  return tally(entries.map(({ action }) => action));
}

function tally(names: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
