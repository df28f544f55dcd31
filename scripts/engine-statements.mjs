// Tries every statement of the service that names a distributed table, on a database that `npm run distribute` has
// distributed, and writes the results to test/quick/contract/engine-statements.json: `npm run engine-statements -- --database-url
// URL`. Each statement is explained, executed with made-up values, and rolled back.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import './build-if-needed.mjs';

const FILE = new URL('../test/quick/contract/engine-statements.json', import.meta.url);

const { values: options } = parseArgs({ options: { 'database-url': { type: 'string' } } });
const url = options['database-url'];
if (!url) {
  console.error('--database-url is needed: the coordinator, as the owner of the tables');
  process.exit(2);
}

const { withService } = await import('../dist/src/operations/admin/with-service.js');
const { configurationOfProcess } = await import('../dist/src/platform/config/index.js');
const { Database, DISTRIBUTED_TABLES, knownStatements } =
  await import('../dist/src/platform/database/index.js');
const { onlyNode } = await import('./engine-node.mjs');

const WORKSPACE = '01900000-0000-7000-8000-000000000001';

/** An SQL value of a type. The workspace is always the same, as in a request. */
function valueOf(type) {
  if (type.endsWith('[]')) return `ARRAY[${valueOf(type.slice(0, -2))}]::${type}`;
  const text = { uuid: WORKSPACE, bytea: '\\x00', json: '{}', jsonb: '{}', boolean: 'true', text: 'x' }[type];
  if (text !== undefined) return `'${text}'::${type}`;
  return type.startsWith('timestamp') ? `now()::${type}` : `'1'::${type}`;
}

/**
 * Errors of the values, such as a violated constraint: the engine has executed the statement. Excludes 22021, invalid
 * encoding, which an engine reports when it misreads its own intermediate results.
 */
const OF_VALUES = /^(22(?!021)|23)/;

const textOf = ({ message, detail }) => [message, detail].filter(Boolean).join(': ');

/** @returns how many nodes the statement runs on: `none` (it has no distributed table), `one`, `all` or `unknown` */
async function nodesOf(client, call) {
  await client.query('SAVEPOINT explained');
  const plan = await client.query(`EXPLAIN (COSTS off) EXECUTE ${call}`).catch(() => undefined);
  await client.query('ROLLBACK TO explained');
  if (!plan) return 'unknown';
  const lines = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
  const counts = [...lines.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count));
  if (counts.length === 0) return 'none';
  return counts.some((count) => count > 1) ? 'all' : 'one';
}

/** @returns where the statement runs, and its error or null */
async function tried(client, text) {
  await client.query('BEGIN');
  let nodes = 'unknown';
  try {
    await client.query(`PREPARE tried AS ${text}`);
    const { rows } = await client.query(
      `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'tried'`,
    );
    const given = rows[0].types.length > 0 ? `(${rows[0].types.map(valueOf).join(', ')})` : '';
    nodes = await nodesOf(client, `tried${given}`);
    await client.query(`EXECUTE tried${given}`);
    return { nodes, error: null };
  } catch (error) {
    return { nodes, error: OF_VALUES.test(error.code) ? null : textOf(error) };
  } finally {
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
}

const hashOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);

const configuration = configurationOfProcess({ DATABASE_URL: url });
const results = await withService(async (service) => {
  const pool = service.get(Database).pool;
  const client = await pool.connect();
  const node = await onlyNode(pool, url, WORKSPACE);
  const tries = {};
  const distributed = new RegExp(
    `\\b(?:${DISTRIBUTED_TABLES.map(({ table }) => table).join('|')}|put_\\w+|shared_commits)\\b`,
  );
  // The engine passes statements on the coordinator's own tables to PostgreSQL unchanged.
  const statements = knownStatements().filter(({ text }) => distributed.test(text));
  for (const statement of statements.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name, onNodes, isOfWorkspace } = statement;
    const { error, nodes } = await tried(client, onNodes);
    tries[name] = { hash: hashOf(onNodes), nodes, error };
    if (isOfWorkspace || error !== null) tries[name].onItsNode = { error: await node.errorOf(statement) };
  }
  await node.end();
  client.release();
  return tries;
}, configuration);

await writeFile(FILE, `${JSON.stringify(results, null, 2)}\n`);
const faults = Object.entries(results).flatMap(([name, { error, onItsNode }]) =>
  [
    ['at the coordinator', error],
    ['at its node', onItsNode?.error ?? null],
  ].flatMap(([place, fault]) => (fault === null ? [] : [`  ${name} ${place}: ${fault}`])),
);
console.log([`${Object.keys(results).length} statements, ${faults.length} faults`, ...faults].join('\n'));
