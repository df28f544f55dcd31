import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { createOnNodes, dropOnNodes, isEngineThere } from './distributed-database.js';
import { GIVE_UP_AFTER_MS } from './eventually.js';

const TEMPLATE = 'template_of_tests';
const LOOK_EVERY_MS = 2; // polling uses the processor that the awaited work needs

/** The server of this run, which global-setup found or started. */
const server = JSON.parse(process.env.TEST_SERVER ?? '{}') as pg.ClientConfig;

export interface TestDatabase {
  /** Value for DATABASE_URL. */
  readonly url: string;
  readonly name: string;
  /** Reads the rows directly, bypassing the service. */
  query<Row = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** The same for repeated queries: planned once per connection. */
  queryPrepared<Row = Record<string, unknown>>(sql: string): Promise<Row[]>;
  /** Polls until the query has a row. */
  eventually(sql: string): Promise<void>;
  drop(): Promise<void>;
}

/** A separate database for one test file, cloned from the migrated template, or empty. */
export async function createDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  if (isEngineThere) await createOnNodes(String(server.connectionString), name, isEmpty);
  // Copied as files, not through the log: a tenth of the time for a template in memory.
  else await asAdmin(`CREATE DATABASE ${name}${isEmpty ? '' : ` TEMPLATE ${TEMPLATE}`} STRATEGY FILE_COPY`);
  const pool = new pg.Pool({ ...connectionTo(name), max: 2 });
  pool.on('error', () => undefined);
  const query = async <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query(sql, values)).rows as Row[];
  const queryPrepared = async <Row>(text: string): Promise<Row[]> => {
    const name = createHash('md5').update(text).digest('hex');
    return (await pool.query({ name, text })).rows as Row[];
  };
  return {
    name,
    url: urlOf(name),
    query,
    queryPrepared,
    eventually: async (sql) => {
      const deadline = Date.now() + GIVE_UP_AFTER_MS;
      while ((await query(sql)).length === 0) {
        if (Date.now() > deadline) throw new Error(`never: ${sql}`);
        await pause(LOOK_EVERY_MS);
      }
    },
    drop: async () => {
      await pool.end();
      if (isEngineThere) await dropOnNodes(String(server.connectionString), name);
      else await asAdmin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function connectionTo(database: string): pg.ClientConfig {
  return server.connectionString ? { connectionString: urlOf(database) } : { ...server, database };
}

function urlOf(database: string): string {
  if (server.connectionString) {
    const url = new URL(server.connectionString);
    url.pathname = `/${database}`;
    url.searchParams.delete('options'); // would override what a test sets for its database
    return url.href;
  }
  const { user, password, host, port } = server;
  const credentials = `${encodeURIComponent(String(user))}:${encodeURIComponent(String(password))}`;
  return `postgres://${credentials}@localhost:${port}/${database}?host=${encodeURIComponent(String(host))}`;
}
