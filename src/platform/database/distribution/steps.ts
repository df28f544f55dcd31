import { BOUND_TABLES, DISTRIBUTED_TABLES, JOINED_TABLES, REFERENCE_TABLES } from './placement.js';
import { NOT_HERE } from './shard-text.js';

/** One change to the database. Each is committed by itself, and a run that was interrupted is repeated. */
export interface Step {
  /** What it does, as a sentence. */
  readonly sentence: string;
  /** A query whose only row has `isDone`. */
  readonly isDone: string;
  readonly sql: readonly string[];
}

const isPlaced = (table: string): string =>
  `SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '${table}'::regclass AND partmethod <> 'n'
     OR logicalrelid = '${table}'::regclass AND repmodel = 't') AS "isDone"`;

/** Without this, the engine would place tables with references to `users` before their turn. */
const ALONE = 'SET citus.enable_local_reference_table_foreign_keys = off';
const TOGETHER = 'SET citus.enable_local_reference_table_foreign_keys = on';

/**
 * A table with rows is copied shard by shard over one connection to each node. Otherwise the engine refuses those that refer to a
 * table that every node has.
 */
const ONE_BY_ONE = `SET citus.multi_shard_modify_mode = 'sequential'`;

const dropReference = (table: string): Step => {
  const name = `${table}_workspace_id_fkey`;
  return {
    sentence: `Drop the foreign key ${name}: ${table} stays on the coordinator, workspaces do not.`,
    isDone: `SELECT NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = '${name}' AND conrelid = '${table}'::regclass) AS "isDone"`,
    sql: [`ALTER TABLE ${table} DROP CONSTRAINT ${name}`],
  };
};

const copy = (table: string): Step => ({
  sentence: `Copy ${table} to every node.`,
  isDone: isPlaced(table),
  sql: [ALONE, `SELECT create_reference_table('${table}')`],
});

const distribute = ({ table, column }: { table: string; column: string }): Step => ({
  sentence: `Distribute ${table} by ${column}.`,
  isDone: isPlaced(table),
  sql: [
    ALONE,
    ONE_BY_ONE,
    `SELECT create_distributed_table('${table}', '${column}'${table === 'workspaces' ? '' : `, colocate_with => 'workspaces'`})`,
  ],
});

/** Local tables that refer to the tables that every node has, or are read with them, and not known to the engine yet. */
const UNKNOWN_TABLES = `
  SELECT DISTINCT conrelid::regclass::text AS "table" FROM pg_constraint
  WHERE contype = 'f' AND confrelid IN (${REFERENCE_TABLES.map((table) => `'${table}'::regclass`).join(', ')})
    AND NOT relation_is_a_known_shard(conrelid)
    AND NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = conrelid)
  UNION SELECT name FROM unnest(ARRAY[${JOINED_TABLES.map((table) => `'${table}'`).join(', ')}]) AS name
  WHERE NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = name::regclass)`;

/** Until the engine knows these tables, deleting a user leaves their rows. */
const makeKnown: Step = {
  sentence: 'Make the tables that refer to users known to the engine: deleting a user deletes their rows.',
  isDone: `SELECT NOT EXISTS (${UNKNOWN_TABLES}) AS "isDone"`,
  sql: [
    TOGETHER,
    `DO $$
     DECLARE t text;
     BEGIN
       LOOP
         SELECT "table" INTO t FROM (${UNKNOWN_TABLES}) unknown ORDER BY 1 LIMIT 1;
         EXIT WHEN t IS NULL;
         PERFORM citus_add_local_table_to_metadata(t::regclass, cascade_via_foreign_keys => true);
       END LOOP;
     END $$`,
  ],
};

const FUNCTIONS = `
  SELECT p.oid FROM pg_proc p
  WHERE p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'workspaces'::regclass)
    AND p.prokind = 'f' AND p.proname LIKE 'put\\_%'
    AND NOT EXISTS (SELECT 1 FROM pg_dist_object WHERE classid = 'pg_proc'::regclass AND objid = p.oid)`;

const copyFunctions: Step = {
  sentence: 'Copy the functions that write uploads to every node.',
  isDone: `SELECT NOT EXISTS (${FUNCTIONS}) AS "isDone"`,
  sql: [`SELECT create_distributed_function(oid::regprocedure) FROM (${FUNCTIONS}) missing`],
};

/** A statement that goes straight to the tables of a shard asks these whether they are still where the rows are. */
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
  sql: [GUARDS],
};

/** The functions are called in statements that run on a shard; all that they touch is on the same node. */
const allowNesting: Step = {
  sentence: "Allow the service's role to call these functions on the nodes.",
  isDone: `SELECT EXISTS (
    SELECT 1 FROM pg_db_role_setting s
    WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND s.setrole = current_user::regrole AND 'citus.allow_nested_distributed_execution=on' = ANY (s.setconfig)
  ) AS "isDone"`,
  sql: [
    `DO $$ BEGIN EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET citus.allow_nested_distributed_execution = on',
       current_database()); END $$`,
  ],
};

const PLACED = [...REFERENCE_TABLES, ...DISTRIBUTED_TABLES.map(({ table }) => table)];
const STILL_HELD = PLACED.map((table) => `pg_relation_size('${table}') > 0`).join(' OR ');

/** Rows that were copied to the nodes still take room where they were. */
const free: Step = {
  sentence: 'Free the room of the rows that were moved to the nodes.',
  isDone: `SELECT NOT (${STILL_HELD}) AS "isDone"`,
  sql: [...PLACED]
    .reverse()
    .map((table) => `SELECT truncate_local_data_after_distributing_table('${table}')`),
};

/** In the order in which they are done. */
export const STEPS: readonly Step[] = [
  ...BOUND_TABLES.map(dropReference),
  copy('users'),
  ...DISTRIBUTED_TABLES.map(distribute),
  copy('subscriptions'),
  makeKnown,
  copyFunctions,
  createGuards,
  allowNesting,
  free,
];
