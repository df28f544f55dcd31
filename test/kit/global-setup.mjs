// One PostgreSQL for the whole run: the embedded one, or TEST_DATABASE_URL. One template database, migrated once;
// every test file clones it. Uses the compiled service, which `npm test` has just built.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startBroker } from './s3-broker.mjs';
import { testServers } from './unpacked-servers.mjs';

export const TEMPLATE = 'template_of_tests';

export default async function globalSetup() {
  const { lockDataDirectory, startEmbeddedPostgres } =
    await import('../../dist/src/platform/database/embedded/index.js');
  const { createDataSource, migrate } = await import('../../dist/src/platform/database/index.js');

  const url = process.env.TEST_DATABASE_URL;
  if (!url) {
    const dataDir = await mkdtemp(join(tmpdir(), 'sync-tests-'));
    await lockDataDirectory(dataDir);
    globalThis.dataDir = dataDir;
    globalThis.embedded = await startEmbeddedPostgres({
      dataDir,
      log: ({ level, message }) => level === 'info' || console.error(`PostgreSQL: ${message}`),
      onFatal: (error) => {
        throw error;
      },
    });
  }
  const server = url ? { connectionString: url } : globalThis.embedded.target;
  process.env.TEST_SERVER = JSON.stringify(server);

  const client = new pg.Client(server);
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();

  const source = createDataSource({
    target: url ? withDatabase(url, TEMPLATE) : { ...server, database: TEMPLATE },
    poolSize: 2,
    entities: [],
    onPoolError: () => undefined,
  });
  await source.initialize();
  await migrate(source);
  await source.destroy();

  globalThis.broker = await startBroker();
  process.env.TEST_SERVERS = JSON.stringify({ ...testServers, broker: globalThis.broker.path });
}

function withDatabase(url, database) {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
