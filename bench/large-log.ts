/** Anything that runs SQL: a client, a pool, the tests' database. */
export type RunSql = (sql: string, values: unknown[]) => Promise<unknown>;

export interface LogSize {
  readonly files: number;
  /** A multiple of `files`, at least 2: all files are written in turn, and a tenth of them are deleted in the last round. */
  readonly changes: number;
}

/**
 * Writes a log into an empty workspace as if uploads had created it: each version has its change row, and all share one
 * empty blob.
 */
export async function insertLargeLog(run: RunSql, workspaceId: string, size: LogSize): Promise<void> {
  const { files, changes } = size;
  await run(BLOB, [workspaceId]);
  await run(FILES, [workspaceId, files, changes / files]);
  await run(CHANGES, [workspaceId, files, changes / files]);
  await run(VERSIONS, [workspaceId]);
  await run(HEAD, [workspaceId]);
}

/** Ids in creation order, like the service's UUIDv7 ids: rows created together are stored together. */
const idInOrder = (place: string): string =>
  `(lpad(to_hex(1760000000000 + ${place}), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`;

const BLOB = `
  INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
  VALUES ($1, $1, 'live', 'inline', 0, encode(sha256(''), 'hex'), '', now())`;

const FILES = `
  INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, is_deleted, created_at, updated_at)
  SELECT $1, ${idInOrder('n')}, 'file-' || n, $1, encode(sha256(''), 'hex'), 0, $3::int - (n % 10 = 0)::int, n % 10 = 0, now(), now()
  FROM generate_series(1, $2::int) AS n`;

const CHANGES = `
  INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at)
  SELECT $1, (turn - 1) * $2::int + substr(encrypted_path, 6)::int, id, encrypted_path,
         CASE WHEN turn = $3::int AND is_deleted THEN 'delete' ELSE 'upsert' END, content_hash, 0,
         least(turn, version), now()
  FROM files, generate_series(1, $3::int) AS turn WHERE workspace_id = $1 ORDER BY 2`;

const VERSIONS = `
  INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, change_cursor, created_at)
  SELECT workspace_id, ${idInOrder('cursor')}, file_id, version, workspace_id, content_hash, 0, cursor, changed_at
  FROM changes WHERE workspace_id = $1 AND action = 'upsert' ORDER BY cursor`;

const HEAD = `
  UPDATE workspaces
  SET head_cursor = (SELECT count(*) FROM changes WHERE workspace_id = $1),
      live_files = (SELECT count(*) FROM files WHERE workspace_id = $1 AND NOT is_deleted)
  WHERE id = $1`;
