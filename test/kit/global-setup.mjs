// Prepares one PostgreSQL for the whole run, the embedded one or TEST_DATABASE_URL, and one migrated template database,
// which every test file clones. Uses the compiled service, which `npm test` has just built.
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedDatabase } from '../../scripts/embedded-database.mjs';
import { testServers } from '../../scripts/unpacked-servers.mjs';
import { startBroker } from './s3-broker.mjs';
import { useMemory } from './temporary-files.mjs';

export const TEMPLATE = 'template_of_tests';

export default async function globalSetup() {
  const { createDataSource, migrate } = await import('../../dist/src/platform/database/index.js');
  const { UPLOAD_FUNCTIONS } = await import('../../dist/src/domain/files/upload-writer.js');
  const { createIdentity } = await import('../../dist/src/domain/auth/identity.js');

  globalThis.memory = await useMemory();
  const url = process.env.TEST_DATABASE_URL;
  if (!url) {
    const dataDir = await mkdtemp(join(tmpdir(), 'sync-tests-'));
    globalThis.dataDir = dataDir;
    globalThis.embedded = await startEmbeddedDatabase(dataDir);
  }
  const server = url ? { connectionString: url } : globalThis.embedded.target;
  process.env.TEST_SERVER = JSON.stringify(server);

  const client = new pg.Client(server);
  await client.connect();
  if (!url) await takePasswordsQuickly(client);
  await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  if (process.env.TEST_DATABASE_WORKERS)
    await dropTemplateOnNodes([url, ...process.env.TEST_DATABASE_WORKERS.split(',')]);

  const source = createDataSource({
    target: url ? withDatabase(url, TEMPLATE) : { ...server, database: TEMPLATE },
    poolSize: 2,
    onPoolError: () => undefined,
  });
  await source.initialize();
  await migrate(source, [UPLOAD_FUNCTIONS]);
  process.env.TEST_SIGNING_KEY = JSON.stringify(await madeSigningKey(source, createIdentity));
  await source.destroy();

  globalThis.broker = await startBroker();
  process.env.TEST_SERVERS = JSON.stringify({ ...testServers, broker: globalThis.broker.path });
}

/** The template of an earlier run may have other migrations; the first test file that needs it recreates it. */
async function dropTemplateOnNodes(nodes) {
  for (const connectionString of nodes) {
    const node = new pg.Client({ connectionString });
    await node.connect();
    await node.query('SET citus.enable_create_database_propagation = off');
    await node.query(`DROP DATABASE IF EXISTS ${TEMPLATE}_on_nodes WITH (FORCE)`);
    await node.end();
  }
}

/** The suite opens thousands of connections. Each would compute 4,096 rounds for a password that is unguessable anyway. */
async function takePasswordsQuickly(client) {
  await client.query('SET scram_iterations = 1');
  await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(client.password)}`);
}

/**
 * Creates the signing key that all in-process services share, because creating one takes longer than the rest of their
 * start, and each has its own database. @returns the secret, and the row of `auth_jwks`
 */
async function madeSigningKey(source, createIdentity) {
  const secret = randomBytes(32).toString('base64url');
  const configuration = { publicUrl: 'http://localhost', trustedOrigins: [], signupEnabled: false };
  await createIdentity(
    configuration,
    secret,
    { passwords: { signIn: {} } },
    { source, identityPool: source.driver.master },
    console,
  ).api.getJwks();
  const [[row]] = await source.query('DELETE FROM auth_jwks RETURNING *');
  return { secret, row };
}

function withDatabase(url, database) {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
