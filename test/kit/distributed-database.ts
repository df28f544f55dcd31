import pg from 'pg';
import { distributeDatabase } from '../../src/platform/database/index.js';

/**
 * The other nodes of TEST_DATABASE_URL's server, as URLs separated by commas, where it is the coordinator of an engine that
 * distributes tables. Each test database is then one on every node. The role needs the privilege to add nodes.
 */
const WORKERS = (process.env.TEST_DATABASE_WORKERS ?? '').split(',').filter(Boolean);

/** Few, because each shard is a table on a node, and every test file has a database of its own. */
const SHARDS = 4;

export const isEngineThere = WORKERS.length > 0;

const allNodes = (coordinator: string): string[] => [coordinator, ...WORKERS];

/** @param coordinator the URL of its maintenance database */
export async function createOnNodes(coordinator: string, name: string, isEmpty: boolean): Promise<void> {
  for (const url of allNodes(coordinator)) {
    await onServer(url, [
      'SET citus.enable_create_database_propagation = off',
      `CREATE DATABASE ${name} TEMPLATE template0`,
    ]);
    await onServer(inDatabase(url, name), ['CREATE EXTENSION citus']);
  }
  const { hostname, port } = new URL(coordinator);
  await onServer(inDatabase(coordinator, name), [
    `ALTER DATABASE ${name} SET citus.shard_count = ${SHARDS}`,
    `SELECT citus_set_coordinator_host('${hostname}', ${port})`,
    ...WORKERS.map((url) => new URL(url)).map(
      (one) => `SELECT citus_add_node('${one.hostname}', ${one.port})`,
    ),
  ]);
  if (!isEmpty)
    await distributeDatabase(inDatabase(coordinator, name), { isDryRun: false, onStep: () => undefined });
}

export async function dropOnNodes(coordinator: string, name: string): Promise<void> {
  for (const url of allNodes(coordinator))
    await onServer(url, [
      'SET citus.enable_create_database_propagation = off',
      `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`,
    ]);
}

async function onServer(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}

function inDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
