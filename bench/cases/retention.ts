import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { result } from '../measure/beside.js';
import type { Case } from './case.js';

const FILES = 10_000;
const VERSIONS_OF_EACH = 100;

/** One version every twelve hours for fifty days: about 45 of 100 are kept. */
const APART = '12 hours';

/** The limits of a run. */
const LIMITS = { aboveIdleMiB: 64, longestLockMs: 200 };

/** The measurements that the run's process reports. */
export interface RetentionFigures {
  readonly versions: number;
  readonly blobs: number;
  readonly seconds: number;
  /** Duration of a second run, which finds nothing to do. */
  readonly againSeconds: number;
  readonly longestLockMs: number;
  readonly idleMiB: number;
  readonly peakMiB: number;
}

export const retention: Case = {
  name: 'retention',
  says: 'one retention run over a million versions, each with its own blob, in a separate process',
  run: async function* (bench) {
    const fresh = bench.fresh('retention');
    const { databaseUrl } = await fresh.service();
    const [workspaceId = ''] = await (await fresh.account()).workspaces(1);
    await fill(databaseUrl, workspaceId);
    const { idleMiB, peakMiB, ...figures } = await runInProcess(await fresh.place('service'));
    const measured = {
      ...figures,
      idleMiB,
      peakMiB,
      aboveIdleMiB: peakMiB - idleMiB,
      perSecond: figures.versions / figures.seconds,
    };
    yield result(`retention, ${FILES * VERSIONS_OF_EACH} versions in ${FILES} files`, {
      service: measured,
      limit: LIMITS,
    });
    await fresh.stop();
  },
};

async function fill(databaseUrl: string, workspaceId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // The rows satisfy the foreign keys; checking them a million times takes minutes.
    await client.query('SET session_replication_role = replica');
    for (const sql of [FILES_SQL, VERSIONS_SQL, CHANGES_SQL]) await client.query(sql, [workspaceId]);
    await client.query(HEAD_SQL, [workspaceId]);
    await client.query('VACUUM (ANALYZE) files, versions, changes, blobs');
  } finally {
    await client.end();
  }
}

async function runInProcess(dataDir: string): Promise<RetentionFigures> {
  const child = fork(join(import.meta.dirname, 'retention-run.js'), {
    env: { ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the run exited with ${String(code)}`);
  });
  const [figures] = (await Promise.race([once(child, 'message'), ended])) as [RetentionFigures];
  return figures;
}

const FILES_SQL = `
  INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, created_at, updated_at)
  SELECT $1, gen_random_uuid(), 'old-' || n, encode(sha256(n::text::bytea), 'hex'), 64, ${VERSIONS_OF_EACH}, now(), now()
  FROM generate_series(1, ${FILES}) AS n`;

const VERSIONS_SQL = `
  WITH made AS (
    SELECT f.id AS file_id, gen_random_uuid() AS id, turn, f.content_hash,
           now() - (${VERSIONS_OF_EACH} - turn) * interval '${APART}' AS at,
           w.head_cursor + (turn - 1) * ${FILES} + substr(f.encrypted_path, 5)::int AS cursor
    FROM files f JOIN workspaces w ON w.id = f.workspace_id, generate_series(1, ${VERSIONS_OF_EACH}) AS turn
    WHERE f.workspace_id = $1 AND f.encrypted_path LIKE 'old-%'
  ), stored AS (
    INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
    SELECT $1, id, 'live', 'inline', 64, content_hash, content_hash::bytea, at FROM made
  )
  INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, change_cursor, created_at)
  SELECT $1, id, file_id, turn, id, content_hash, 64, cursor, at FROM made ORDER BY cursor`;

const CHANGES_SQL = `
  WITH heads AS (
    UPDATE files f SET blob_id = v.blob_id FROM versions v
    WHERE f.workspace_id = $1 AND v.workspace_id = $1 AND v.file_id = f.id AND v.version = f.version
  )
  INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at)
  SELECT v.workspace_id, v.change_cursor, v.file_id, f.encrypted_path, 'upsert', v.content_hash, 64, v.version, v.created_at
  FROM versions v JOIN files f ON f.workspace_id = v.workspace_id AND f.id = v.file_id
  WHERE v.workspace_id = $1 AND f.encrypted_path LIKE 'old-%'`;

const HEAD_SQL = `
  UPDATE workspaces SET head_cursor = head_cursor + ${FILES * VERSIONS_OF_EACH}, live_files = live_files + ${FILES},
    document_bytes = document_bytes + ${64 * FILES * VERSIONS_OF_EACH}
  WHERE id = $1`;
