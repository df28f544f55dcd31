import pg from 'pg';
import { UPLOAD_FUNCTIONS } from '../../src/domain/files/index.js';
import { distributeDatabase } from '../../src/platform/database/index.js';

/**
 * URLs of the worker nodes, separated by commas, if TEST_DATABASE_URL is the coordinator of an engine that distributes
 * tables. Each test database then exists on every node. The role needs the privilege to add nodes.
 */
const WORKERS = (process.env.TEST_DATABASE_WORKERS ?? '').split(',').filter(Boolean);

/** Few, because each shard is a table on a node, and every test file has its own database. */
const SHARDS = 4;

export const isEngineThere = WORKERS.length > 0;

const allNodes = (coordinator: string): string[] => [coordinator, ...WORKERS];

/** Distributing a database takes most of a minute on a busy machine; copying one takes a second. */
const TEMPLATE = 'template_of_tests_on_nodes';

/** Held while the template is in use: it cannot be copied while another session is connected to it. */
const TEMPLATE_LOCK = 7_265_012;

/** @param coordinator the URL of its maintenance database */
export async function createOnNodes(coordinator: string, name: string, isEmpty: boolean): Promise<void> {
  if (isEmpty) return create(coordinator, name);
  const holder = new pg.Client({ connectionString: coordinator });
  await holder.connect();
  try {
    await holder.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rows } = await holder.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rows.length === 0) await createTemplate(coordinator);
    for (const url of allNodes(coordinator)) await onServer(url, [LEAVE_TEMPLATE, ...copyOf(TEMPLATE, name)]);
  } finally {
    await holder.end();
  }
  await distribute(inDatabase(coordinator, name)); // settings that belong to a database's name are not copied
}

async function createTemplate(coordinator: string): Promise<void> {
  const unfinished = `${TEMPLATE}_begun`;
  await dropOnNodes(coordinator, unfinished);
  await create(coordinator, unfinished);
  await distribute(inDatabase(coordinator, unfinished));
  for (const url of allNodes(coordinator).reverse())
    await onServer(url, [
      LEAVE_TEMPLATE,
      'SET citus.enable_create_database_propagation = off',
      `ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`,
    ]);
}

/** The engine's own daemon is connected too, and reconnects after some seconds. */
const LEAVE_TEMPLATE = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname LIKE '${TEMPLATE}%'`;

const copyOf = (template: string, name: string): string[] => [
  'SET citus.enable_create_database_propagation = off',
  `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`,
];

async function distribute(url: string): Promise<void> {
  await distributeDatabase(url, { isDryRun: false, functions: [UPLOAD_FUNCTIONS], onStep: () => undefined });
}

async function create(coordinator: string, name: string): Promise<void> {
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
