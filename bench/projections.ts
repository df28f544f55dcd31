import pg from 'pg';
import { projectionStatements } from '../src/checkpoints/checkpoints.queries.js';
import type { Statement } from '../src/platform/database/index.js';
import { insertLargeLog } from './large-log.js';
import { send } from './load.js';
import type { Bench } from './prepare.js';

const FILES = 20_000;
const CHANGES = 100_000;
const CURSOR = CHANGES / 2;
const ROUNDS = 7;

/** The least that any projection has to do: look at each of the rows once. */
const REFERENCE = `SELECT (SELECT count(*) FROM changes WHERE workspace_id = $1) + (SELECT count(*) FROM files WHERE workspace_id = $1)`;

export interface ProjectionResult {
  readonly case: string;
  /** The statement's own time, to its last row. Medians, as all of them. */
  readonly milliseconds: number;
  readonly referenceMilliseconds: number;
  /** The route, with its JSON. */
  readonly routeMilliseconds: number;
}

/** The large projections over a checkpoint in the middle of a long log. */
export async function measureProjections(bench: Bench): Promise<ProjectionResult[]> {
  const client = new pg.Client({ connectionString: bench.databaseUrl });
  await client.connect();
  try {
    const workspaceId = bench.emptyWorkspace;
    await insertLargeLog((sql, values) => client.query(sql, values), workspaceId, {
      files: FILES,
      changes: CHANGES,
    });
    await client.query(
      `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at) VALUES ($1, $1, 'bGFiZWw', 'manual', $2, now())`,
      [workspaceId, CURSOR],
    );
    await client.query('VACUUM (ANALYZE) files, changes, versions');

    const measure = async (
      name: string,
      route: string,
      statement: Statement,
      values: unknown[],
    ): Promise<ProjectionResult> => {
      const address = `${bench.serviceUrl}/api/v1/workspaces/${workspaceId}/checkpoints/${workspaceId}/${route}`;
      const headers = { authorization: `Bearer ${bench.token}` };
      return {
        case: `${name}, 100,000 changes, 20,000 files`,
        milliseconds: await medianOf(() => onSnapshot(client, statement, values)),
        referenceMilliseconds: await medianOf(() => timed(() => client.query(REFERENCE, [workspaceId]))),
        routeMilliseconds: await medianOf(() =>
          timed(() => send(address, 'GET', { headers, body: Buffer.alloc(0) })),
        ),
      };
    };
    return [
      await measure('restore manifest', 'restore-manifest', projectionStatements.manifest, [
        workspaceId,
        CURSOR,
      ]),
      await measure('summary', 'summary?fromCursor=0', projectionStatements.summary, [
        workspaceId,
        0,
        CURSOR,
      ]),
    ];
  } finally {
    await client.end();
  }
}

/** As the service runs it; the time of the statement alone. */
async function onSnapshot(client: pg.Client, statement: Statement, values: unknown[]): Promise<number> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.query(projectionStatements.planForMany);
  const milliseconds = await timed(() => client.query({ ...statement, values }));
  await client.query('COMMIT');
  return milliseconds;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function medianOf(measure: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await measure());
  return Math.round(times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN);
}
