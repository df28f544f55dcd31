import pg from 'pg';
import { instantText } from '../../src/platform/database/index.js';
import type { Bench } from '../bench.js';

/** Reads pages of one workspace as JSON bytes, which are valid only until the caller's next await. */
export interface Reader {
  readonly name: string;
  readonly pids: () => Promise<number[]>;
  pull(cursor: number): Promise<Buffer>;
  /** @param from an id, or an empty string for the first page */
  snapshot(from: string): Promise<Buffer>;
}

export async function serviceReader(bench: Bench, workspaceId: string): Promise<Reader> {
  const service = await bench.service();
  const client = await (await bench.account()).client();
  const sync = `/api/v1/workspaces/${workspaceId}/sync`;
  const headers = { 'content-type': 'application/json' };
  return {
    name: 'service',
    pids: async () => [service.pid, ...(await service.postgres())],
    pull: (cursor) => {
      const body = Buffer.from(`{"deviceId":"bench","cursor":${cursor},"limit":100}`);
      return client.send('POST', `${sync}/pull`, { headers, body });
    },
    snapshot: (from) => client.send('GET', `${sync}/snapshot?limit=1000&pageCursor=${from}`),
  };
}

/** Keeps values as PostgreSQL sends them: parsing them only to serialize them again would be wasted work. */
const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig;
/**
 * A custom plan for one page, which knows its values or limit, would sort all files, because the service's tables have no
 * statistics on workspaces.
 */
export const PLANNING = '-c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const PULL = `
  SELECT (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id), c.action, c.content_hash,
         c.encrypted_size, c.version, ${instantText('c.changed_at')}, c.changed_by_device, c.cursor
  FROM changes c WHERE c.workspace_id = $1 AND c.cursor > $2 ORDER BY c.cursor LIMIT $3::int + 1`;

const SNAPSHOT = `
  SELECT id, encrypted_path, content_hash, encrypted_size, version, ${instantText('created_at')}, ${instantText('updated_at')},
         (SELECT head_cursor FROM workspaces WHERE id = $1)
  FROM files WHERE workspace_id = $1 AND NOT is_deleted AND id > $2 ORDER BY id LIMIT $3::int + 1`;

type Row = (string | null)[];

/**
 * The same rows through pg alone, in this process, without a server: prepared statements, rows as arrays of strings, and
 * JSON by concatenation.
 */
export async function sqlReader(bench: Bench, workspaceId: string, connections: number): Promise<Reader> {
  const service = await bench.service();
  const pool = new pg.Pool({
    connectionString: service.databaseUrl,
    max: connections,
    types: asText,
    options: PLANNING,
  });
  bench.ending({ stop: () => pool.end() });
  const rowsOf = async (name: string, text: string, from: string | number, limit: number): Promise<Row[]> =>
    (await pool.query<Row>({ name, text, values: [workspaceId, from, limit], rowMode: 'array' })).rows;
  return {
    name: 'SQL through pg alone',
    pids: async () => [process.pid, ...(await service.postgres())],
    pull: async (cursor) => Buffer.from(pullPage(await rowsOf('pull', PULL, cursor, 100))),
    snapshot: async (from) =>
      Buffer.from(snapshotPage(await rowsOf('snapshot', SNAPSHOT, from || FIRST_ID, 1000))),
  };
}

function pullPage(rows: Row[]): string {
  const page = rows.slice(0, 100);
  const changes = page.map(
    ([path, action, hash, size, version, at, device]) =>
      `{"encryptedPath":"${path}","action":"${action}","contentHash":"${hash}","encryptedSize":${size},"version":${version},"changedAt":"${at}","changedByDevice":${device === null ? 'null' : JSON.stringify(device)}}`,
  );
  return `{"changes":[${changes.join(',')}],"cursor":${page.at(-1)?.[7]},"hasMore":${rows.length > 100}}`;
}

function snapshotPage(rows: Row[]): string {
  const hasMore = rows.length > 1000;
  const page = rows.slice(0, 1000);
  const files = page.map(
    ([id, path, hash, size, version, created, updated]) =>
      `{"id":"${id}","encryptedPath":"${path}","contentHash":"${hash}","encryptedSize":${size},"version":${version},"createdAt":"${created}","updatedAt":"${updated}"}`,
  );
  const next = hasMore ? `"${page.at(-1)?.[0]}"` : 'null';
  return `{"files":[${files.join(',')}],"cursor":${page[0]?.[7]},"nextPageCursor":${next},"hasMore":${hasMore}}`;
}
