import type { ClientBase, PoolClient } from 'pg';
import { OperatorError } from '../../config/index.js';
import { createDataSource } from '../data-source.js';
import { connectFault, sqlState } from '../database-errors.js';
import { refuseRunningService } from '../database-server.js';
import {
  appliedMigrations,
  lacksMigrations,
  migrate,
  type StoredFunctions,
  underStartLock,
} from '../migrate.js';
import { DISTRIBUTED_TABLES, IMPOSSIBLE_REFERENCES, SHARED_COMMITS } from './nodes.js';
import { NOT_HERE } from './shards.js';

/** One change to the database. Each step is committed separately; an interrupted run can be repeated. */
export interface Step {
  readonly sentence: string;
  /** A query that returns one row with `isDone`. */
  readonly isDone: string;
  /** If the command is killed, the server still finishes the current statement, so a step of one statement always completes. */
  readonly sql: string;
}

const isPlaced = (table: string): string =>
  `SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '${table}'::regclass AND partmethod <> 'n') AS "isDone"`;

const dropReference = ({ table, name }: { table: string; name: string }): Step => ({
  sentence: `Drop the foreign key ${name}: accounts stay on the coordinator, workspaces do not.`,
  isDone: `SELECT NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = '${name}' AND conrelid = '${table}'::regclass) AS "isDone"`,
  sql: `ALTER TABLE ${table} DROP CONSTRAINT ${name}`,
});

const distributeTable = ({ table, column }: { table: string; column: string }): Step => ({
  sentence: `Distribute ${table} by ${column}.`,
  isDone: isPlaced(table),
  sql: `SELECT create_distributed_table('${table}', '${column}'${table === 'workspaces' ? '' : `, colocate_with => 'workspaces'`})`,
});

const TRIGGERS = `SELECT tgname, tgrelid FROM pg_trigger WHERE NOT tgisinternal
    AND tgrelid IN (${DISTRIBUTED_TABLES.map(({ table }) => `'${table}'::regclass`).join(', ')})`;

/** The engine refuses tables with triggers. Only instances of the previous version need them, and none is running. */
const dropTriggers: Step = {
  sentence: 'Drop the triggers that are for instances of the version before.',
  isDone: `SELECT NOT EXISTS (${TRIGGERS}) AS "isDone"`,
  sql: `DO $$ DECLARE t record; BEGIN
    FOR t IN ${TRIGGERS} LOOP EXECUTE format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass); END LOOP;
  END $$`,
};

/** Statements sent directly to the tables of a shard call these functions to check that the shard is still on this node. */
const GUARDS = `
  CREATE OR REPLACE FUNCTION shard_is_here(p_shard bigint) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (
      SELECT 1 FROM pg_dist_placement
      WHERE shardid = p_shard AND groupid = (SELECT groupid FROM pg_dist_local_group)
    ) THEN
      RAISE EXCEPTION 'shard % is not on this node', p_shard USING ERRCODE = '${NOT_HERE}';
    END IF;
    RETURN true;
  END $$;
  CREATE OR REPLACE FUNCTION hold_shard(p_shard bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM lock_shard_metadata(5, ARRAY[p_shard]); -- ShareLock, as the engine takes it to write; a move waits
    PERFORM shard_is_here(p_shard);
  END $$`;

const createGuards: Step = {
  sentence: 'Create the functions that check and hold the place of a shard.',
  isDone: `SELECT to_regprocedure('shard_is_here(bigint)') IS NOT NULL AND to_regprocedure('hold_shard(bigint)') IS NOT NULL AS "isDone"`,
  sql: GUARDS,
};

/** Statements on a shard call these functions, which only access tables on the same node. */
const allowNesting: Step = {
  sentence: "Allow the service's role to call these functions on the nodes.",
  isDone: `SELECT EXISTS (
    SELECT 1 FROM pg_db_role_setting s
    WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND s.setrole = current_user::regrole AND 'citus.allow_nested_distributed_execution=on' = ANY (s.setconfig)
  ) AS "isDone"`,
  sql: `DO $$ BEGIN EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET citus.allow_nested_distributed_execution = on',
       current_database()); END $$`,
};

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => table);
const STILL_HELD = TABLES.map((table) => `pg_relation_size('${table}') > 0`).join(' OR ');

/** Rows that were copied to the nodes still occupy space on the coordinator. */
const free: Step = {
  sentence: 'Free the room of the rows that were moved to the nodes.',
  isDone: `SELECT NOT (${STILL_HELD}) AS "isDone"`,
  sql: [...TABLES]
    .reverse()
    .map((table) => `SELECT truncate_local_data_after_distributing_table('${table}')`)
    .join('; '),
};

/** The last step: the service starts only after it. */
const shareCommits: Step = {
  sentence: 'Let the engine commit what changes on a node and on the coordinator together.',
  isDone: `SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '${SHARED_COMMITS}'::regclass) AS "isDone"`,
  sql: `SELECT citus_add_local_table_to_metadata('${SHARED_COMMITS}')`,
};

/** In order of execution. */
export const STEPS: readonly Step[] = [
  ...IMPOSSIBLE_REFERENCES.map(dropReference),
  dropTriggers,
  ...DISTRIBUTED_TABLES.map(distributeTable),
  createGuards,
  allowNesting,
  free,
  shareCommits,
];

export interface DistributeOptions {
  /** The functions of the domain modules, which are created after the migrations. */
  readonly functions: readonly StoredFunctions[];
  readonly isDryRun: boolean;
  /** Called with the sentence of each step before it runs. */
  readonly onStep: (sentence: string) => void;
}

interface Engine {
  readonly hasCoordinator: boolean;
  readonly workers: number;
  readonly behind: string[];
}

const MIGRATE = 'Create the tables, or migrate them to this version.';

const UNDEFINED_TABLE = '42P01';

const nodes = `
  SELECT coalesce(bool_or(groupid = 0), false) AS "hasCoordinator",
         count(*) FILTER (WHERE isactive AND shouldhaveshards)::int AS workers,
         coalesce(array_agg(nodename || ':' || nodeport) FILTER (WHERE isactive AND NOT metadatasynced), '{}') AS behind
  FROM pg_dist_node WHERE noderole = 'primary'`;

/** Tables that are already distributed differently; the command does not undo that. */
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

/** Advisory lock; the distributing connection holds it until it closes. */
const DISTRIBUTING = 7_325_190_004;

/**
 * Migrates the database at `url` and distributes its tables over the nodes of the engine, step by step; completed steps are
 * skipped. No instance can start in the meantime. A dry run takes no lock, so it works while the service runs.
 * @returns the number of steps completed or, with `isDryRun`, still to be done
 * @throws OperatorError when the engine is not ready, tables are distributed differently, or a service runs on the database
 */
export async function distributeDatabase(url: string, options: DistributeOptions): Promise<number> {
  const { functions, isDryRun, onStep } = options;
  const settings = { target: url, poolSize: 3, entities: [], onPoolError: () => undefined };
  const source = createDataSource({ ...settings, isWithoutTimeouts: true });
  const change = async (): Promise<number> => {
    const runner = source.createRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await refuseUnready(client);
      const applied = await appliedMigrations((sql) => source.query(sql));
      const migrations = lacksMigrations(source, applied) ? 1 : 0;
      if (migrations > 0) onStep(MIGRATE);
      if (!isDryRun) await migrate(source, functions);
      return migrations + (await runSteps(client, options));
    } finally {
      await runner.release();
    }
  };
  try {
    await source.initialize();
    return await (isDryRun ? change() : underStartLock(source, change));
  } catch (error) {
    throw connectFault(error);
  } finally {
    if (source.isInitialized) await source.destroy();
  }
}

async function runSteps(client: ClientBase, { isDryRun, onStep }: DistributeOptions): Promise<number> {
  if (!isDryRun) {
    // Suppresses notices: if this command is killed, the server finishes the current statement unless it fails to send one.
    await client.query('SET client_min_messages = error');
    await client.query(`SELECT pg_advisory_lock(${DISTRIBUTING})`);
  }
  await refuseOtherPlacement(client);
  let count = 0;
  for (const { isDone, sentence, sql } of STEPS) {
    if (await answerOf(client, isDone)) continue;
    // A running service would use partly moved tables.
    if (!isDryRun) await refuseRunningService(async (running) => (await client.query<object>(running)).rows);
    onStep(sentence);
    count++;
    if (!isDryRun) await client.query(sql);
  }
  return count;
}

/** @throws OperatorError for an engine on which the tables cannot be distributed */
async function refuseUnready(client: ClientBase): Promise<void> {
  const installed = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`);
  if (installed.rows.length === 0)
    throw new OperatorError(
      'The extension citus is missing; create it in this database on every node, and add the nodes with citus_add_node.',
    );
  const [engine] = (await client.query<Engine>(nodes)).rows;
  if (!engine?.hasCoordinator)
    throw new OperatorError(
      'The coordinator is unknown to the nodes; call citus_set_coordinator_host first.',
    );
  if (engine.workers === 0)
    throw new OperatorError('No node may hold shards; add a worker with citus_add_node first.');
  if (engine.behind.length > 0)
    throw new OperatorError(
      `These nodes have not received the metadata: ${engine.behind.join(', ')}; wait, or call start_metadata_sync_to_all_nodes.`,
    );
}

/** @throws OperatorError when tables are distributed by another column or not colocated */
async function refuseOtherPlacement(client: ClientBase): Promise<void> {
  const values = [
    DISTRIBUTED_TABLES.map(({ table }) => table),
    DISTRIBUTED_TABLES.map(({ column }) => column),
  ];
  const { rows } = await client.query<{ table: string }>(otherwise, values).catch(noneIfUndefined);
  if (rows.length > 0)
    throw new OperatorError(
      `These tables are distributed otherwise: ${rows.map(({ table }) => table).join(', ')}; undistribute them first, or restore a backup into a new database.`,
    );
}

/** Whether a step is done; false if its table is missing, because a dry run does not create it. */
async function answerOf(client: ClientBase, question: string): Promise<boolean> {
  const { rows } = await client.query<{ isDone: boolean }>(question).catch(noneIfUndefined);
  return rows[0]?.isDone ?? false;
}

function noneIfUndefined(error: unknown): { rows: [] } {
  if (sqlState(error) === UNDEFINED_TABLE) return { rows: [] };
  throw error;
}
