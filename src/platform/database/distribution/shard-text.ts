import type { Shard } from './shards.js';

const AFTER = /\b(FROM|JOIN|UPDATE|INTO) (\w+)\b(?!\()/g;

/** SQL with the tables of the shard in the places of those that it names. */
export const onShard = (sql: string, { tables }: Shard): string =>
  sql.replace(AFTER, (match, word: string, table: string) => {
    const name = tables.get(table);
    return name === undefined ? match : `${word} ${name}`;
  });

/** The function of a shard that stands for one of the schema; of the connection, so that it goes with it. */
const FUNCTIONS = ['put_documents_of_many', 'put_documents'];
const CALL = new RegExp(`\\b(${FUNCTIONS.join('|')})\\(`, 'g');
const withCalls = (sql: string, { id }: Shard): string => sql.replace(CALL, `pg_temp.$1_${id}(`);

/**
 * The text of a statement of one workspace for the node that has it. It fails with `NOT_HERE` when the shard has moved: a shard
 * that was moved away stays for a moment, and must be neither read nor written.
 */
export const shardStatement = (text: string, shard: Shard): string =>
  `SELECT * FROM (${withCalls(onShard(text, shard), shard)}) AS routed WHERE shard_is_here(${shard.id})`;

/** The SQLSTATE of `shard_is_here` and `hold_shard`. */
export const NOT_HERE = 'CS001';

/** A query for the definitions of the functions that statements call, in the order in which to create them. */
export const FUNCTION_DEFINITIONS = `
  SELECT pg_get_functiondef(oid) AS definition FROM pg_proc
  WHERE proname = ANY ('{${FUNCTIONS.join(',')}}') AND pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'workspaces'::regclass)
  ORDER BY array_position('{${FUNCTIONS.join(',')}}', proname::text)`;

/**
 * Creates such a function on the tables of a shard. It begins by holding the shard: a move waits for the transaction, or has
 * happened and the function fails.
 */
export const shardFunction = (definition: string, shard: Shard): string =>
  withCalls(onShard(definition.replace(/FUNCTION \w+\./, 'FUNCTION '), shard), shard).replace(
    /^(\s*)BEGIN$/m,
    `$1BEGIN\n$1  PERFORM hold_shard(${shard.id});`,
  );
