import pg from 'pg';
import { projectionStatements } from '../../src/domain/checkpoints/checkpoints.queries.js';
import type { Statement } from '../../src/platform/database/index.js';
import { insertLargeLog } from '../large-log.js';
import { type Contestant, measureBeside, type Result } from '../measure/beside.js';
import type { Client } from '../measure/client.js';
import { timed } from '../measure/load.js';
import type { Case } from './case.js';

const FILES = 20_000;
const CHANGES = 100_000;
const CURSOR = CHANGES / 2;

/** The minimum work of any projection: read each of the rows once. */
const COUNT = `SELECT (SELECT count(*) FROM changes WHERE workspace_id = $1) + (SELECT count(*) FROM files WHERE workspace_id = $1)`;

export const projections: Case = {
  name: 'projections',
  says: 'restore manifest and summary over 100,000 changes, compared with the bare statement and a count of the same rows',
  run: async function* (bench) {
    const account = await bench.account();
    const [workspaceId = ''] = await account.workspaces(1);
    const database = new pg.Client({ connectionString: (await bench.service()).databaseUrl });
    await database.connect();
    try {
      await fill(database, workspaceId);
      const measured = new Projections(database, await account.client(), workspaceId);
      yield await measured.beside('restore-manifest', projectionStatements.manifest, [workspaceId, CURSOR]);
      yield await measured.beside('summary?fromCursor=0', projectionStatements.summary, [
        workspaceId,
        0,
        CURSOR,
      ]);
    } finally {
      await database.end();
    }
  },
};

/** Creates a checkpoint in the middle of a long log. */
async function fill(database: pg.Client, workspaceId: string): Promise<void> {
  const run = (sql: string, values: unknown[]): Promise<unknown> => database.query(sql, values);
  await insertLargeLog(run, workspaceId, { files: FILES, changes: CHANGES });
  await database.query(
    `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at) VALUES ($1, $1, 'bGFiZWw', 'manual', $2, now())`,
    [workspaceId, CURSOR],
  );
  await database.query('VACUUM (ANALYZE) files, changes, versions');
}

class Projections {
  constructor(
    private readonly database: pg.Client,
    private readonly client: Client,
    private readonly workspaceId: string,
  ) {}

  beside(route: string, statement: Statement, values: unknown[]): Promise<Result> {
    const { workspaceId } = this;
    const address = `/api/v1/workspaces/${workspaceId}/checkpoints/${workspaceId}/${route}`;
    const inMs = (name: string, work: () => Promise<number>): Contestant => ({
      name,
      run: async () => ({ milliseconds: await work() }),
    });
    return measureBeside(`${route.replace(/\?.*/, '')}, 100,000 changes, 20,000 files`, [
      inMs('service', () => timed(() => this.client.send('GET', address))),
      inMs('the statement alone', () => onSnapshot(this.database, statement, values)),
      inMs('a count of the rows', () => timed(() => this.database.query(COUNT, [workspaceId]))),
    ]);
  }
}

/** Runs the statement as the service does; returns the time of the statement alone. */
async function onSnapshot(client: pg.Client, statement: Statement, values: unknown[]): Promise<number> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.query({ ...projectionStatements.begin, values: [values[0], values[0]] }); // the checkpoint uses the workspace's id
  const milliseconds = await timed(() => client.query({ ...statement, values }));
  await client.query('COMMIT');
  return milliseconds;
}
