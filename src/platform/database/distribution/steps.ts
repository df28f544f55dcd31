import { DISTRIBUTED_TABLES, IMPOSSIBLE_REFERENCES, SHARED_COMMITS } from './placement.js';
import { NOT_HERE } from './shards.js';

/** One change to the database. Each is committed by itself, and a run that was interrupted is repeated. */
export interface Step {
  /** What it does, as a sentence. */
  readonly sentence: string;
  /** A query whose only row has `isDone`. */
  readonly isDone: string;
  /** The server finishes the one that it has begun when the command is killed: a step with one always gets done. */
  readonly sql: string;
}

const isPlaced = (table: string): string =>
  `SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '${table}'::regclass AND partmethod <> 'n') AS "isDone"`;

const dropReference = ({ table, name }: { table: string; name: string }): Step => ({
  sentence: `Drop the foreign key ${name}: accounts stay on the coordinator, workspaces do not.`,
  isDone: `SELECT NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = '${name}' AND conrelid = '${table}'::regclass) AS "isDone"`,
  sql: `ALTER TABLE ${table} DROP CONSTRAINT ${name}`,
});

const distribute = ({ table, column }: { table: string; column: string }): Step => ({
  sentence: `Distribute ${table} by ${column}.`,
  isDone: isPlaced(table),
  sql: `SELECT create_distributed_table('${table}', '${column}'${table === 'workspaces' ? '' : `, colocate_with => 'workspaces'`})`,
});

const TRIGGERS = `SELECT tgname, tgrelid FROM pg_trigger WHERE NOT tgisinternal
    AND tgrelid IN (${DISTRIBUTED_TABLES.map(({ table }) => `'${table}'::regclass`).join(', ')})`;

/** The engine refuses tables with triggers. No instance of the version before is there to need them. */
const dropTriggers: Step = {
  sentence: 'Drop the triggers that are for instances of the version before.',
  isDone: `SELECT NOT EXISTS (${TRIGGERS}) AS "isDone"`,
  sql: `DO $$ DECLARE t record; BEGIN
    FOR t IN ${TRIGGERS} LOOP EXECUTE format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass); END LOOP;
  END $$`,
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
  sql: GUARDS,
};

/** The functions are called in statements that run on a shard; all that they touch is on the same node. */
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

/** Rows that were copied to the nodes still take room where they were. */
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

/** In the order in which they are done. */
export const STEPS: readonly Step[] = [
  ...IMPOSSIBLE_REFERENCES.map(dropReference),
  dropTriggers,
  ...DISTRIBUTED_TABLES.map(distribute),
  createGuards,
  allowNesting,
  free,
  shareCommits,
];
