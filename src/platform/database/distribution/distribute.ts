import type { ClientBase } from 'pg';
import { OperatorError } from '../../../config/index.js';
import { sqlState } from '../database-errors.js';
import { DISTRIBUTED_TABLES } from './placement.js';
import { type Step, STEPS } from './steps.js';

const UNDEFINED_TABLE = '42P01';

interface Nodes {
  readonly isInstalled: boolean;
  readonly hasCoordinator: boolean;
  readonly workers: number;
  readonly behind: string[];
}

const isInstalled = `SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS "isInstalled"`;

const nodes = `
  SELECT coalesce(bool_or(groupid = 0), false) AS "hasCoordinator",
         count(*) FILTER (WHERE isactive AND shouldhaveshards)::int AS workers,
         coalesce(array_agg(nodename || ':' || nodeport) FILTER (WHERE isactive AND NOT metadatasynced), '{}') AS behind
  FROM pg_dist_node WHERE noderole = 'primary'`;

/** Tables that somebody has distributed in another way: the command does not undo that. */
const otherwise = `
  SELECT asked.name AS "table" FROM unnest($1::text[], $2::text[]) AS asked (name, key)
  JOIN pg_dist_partition p ON p.logicalrelid = to_regclass(asked.name)
  WHERE p.partmethod <> 'n' AND column_to_column_name(p.logicalrelid, p.partkey) <> asked.key
     OR p.partmethod <> 'n' AND p.colocationid <> (
       SELECT coalesce(min(colocationid) FILTER (WHERE logicalrelid = 'workspaces'::regclass AND partmethod <> 'n'), p.colocationid)
       FROM pg_dist_partition)
     OR p.partmethod = 'n' AND p.repmodel = 't'
  UNION ALL SELECT logicalrelid::text FROM pg_dist_partition
  WHERE partmethod = 'n' AND logicalrelid::text = 'users'`;

/** Held by the connection that distributes, until it ends. */
const DISTRIBUTING = 7_325_190_004;

const running = 'SELECT 1 FROM instances WHERE alive_until > statement_timestamp() LIMIT 1';

/**
 * Refuses a database on which the tables cannot be distributed.
 * @throws OperatorError
 */
export async function refuseUnready(client: ClientBase): Promise<void> {
  if (!(await one<Nodes>(client, isInstalled)).isInstalled) {
    throw new OperatorError(
      'The extension citus is missing; create it in this database on every node, and add the nodes with citus_add_node.',
    );
  }
  const { hasCoordinator, workers, behind } = await one<Nodes>(client, nodes);
  if (!hasCoordinator)
    throw new OperatorError(
      'The coordinator is unknown to the nodes; call citus_set_coordinator_host first.',
    );
  if (workers === 0)
    throw new OperatorError('No node may hold shards; add a worker with citus_add_node first.');
  if (behind.length > 0) {
    throw new OperatorError(
      `These nodes have not received the metadata: ${behind.join(', ')}; wait, or call start_metadata_sync_to_all_nodes.`,
    );
  }
}

/** @throws OperatorError when tables are distributed by another column or apart from each other */
async function refuseOtherPlacement(client: ClientBase): Promise<void> {
  const values = [
    DISTRIBUTED_TABLES.map(({ table }) => table),
    DISTRIBUTED_TABLES.map(({ column }) => column),
  ];
  const { rows } = await client.query<{ table: string }>(otherwise, values);
  if (rows.length === 0) return;
  throw new OperatorError(
    `These tables are distributed otherwise: ${rows.map(({ table }) => table).join(', ')}; undistribute them first, or restore a backup into a new database.`,
  );
}

/**
 * Distributes the tables of a migrated database, step by step; what was done before is skipped.
 * @param client a connection to the coordinator without time limits, as the owner of the tables
 * @returns the steps that were done, or with `isDryRun` those that would be
 * @throws OperatorError when tables are placed otherwise, or a service runs on the database
 */
export async function distribute(
  client: ClientBase,
  { isDryRun, onStep }: { isDryRun: boolean; onStep: (sentence: string) => void },
): Promise<number> {
  if (!isDryRun) {
    // When this command is killed, the server still does its last statement, unless it notices that nobody reads its notices.
    await client.query('SET client_min_messages = error');
    await client.query(`SELECT pg_advisory_lock(${DISTRIBUTING})`);
  }
  await refuseOtherPlacement(client);
  let count = 0;
  for (const step of STEPS) {
    if (await isDone(client, step, isDryRun)) continue;
    if (!isDryRun) await refuseRunningService(client, step);
    onStep(step.sentence);
    count++;
    if (isDryRun) continue;
    for (const sql of step.sql) await client.query(sql);
  }
  return count;
}

/** A dry run does not migrate: what a table of this version is asked for is not done before it. */
async function isDone(client: ClientBase, step: Step, isDryRun: boolean): Promise<boolean> {
  try {
    return (await one<{ isDone: boolean }>(client, step.isDone)).isDone;
  } catch (error) {
    if (isDryRun && sqlState(error) === UNDEFINED_TABLE) return false;
    throw error;
  }
}

/** A service would use the tables while they are half moved, except one of an earlier version that does not know them. */
async function refuseRunningService(client: ClientBase, { isSafeBesideService }: Step): Promise<void> {
  if (isSafeBesideService && (await one<{ isSafe: boolean }>(client, isSafeBesideService)).isSafe) return;
  const { rows } = await client.query(running);
  if (rows.length > 0)
    throw new OperatorError(
      'A service runs on this database; stop all instances, wait a minute and try again.',
    );
}

async function one<Row extends object>(client: ClientBase, sql: string): Promise<Row> {
  const [row] = (await client.query<Row>(sql)).rows;
  if (!row) throw new Error('a query without a row');
  return row;
}
