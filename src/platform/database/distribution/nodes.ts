import type pg from 'pg';
import type { DataSource } from 'typeorm';
import { OperatorError } from '../../config/index.js';
import { isOnNodes } from '../database-server.js';
import { execute, type Parameter, type Statement } from '../statement.js';

export type Run = <Row>(statement: Statement, values: readonly Parameter[]) => Promise<Row[]>;

/** An open transaction on the tables of some workspaces. Its owner sends COMMIT or ROLLBACK, and releases it. */
export interface OpenTransaction {
  readonly client: pg.PoolClient;
  readonly run: Run;
  /** @param failure an error of the connection, which is then not reused */
  release(failure?: Error): void;
}

/** Opens a transaction; its rows do not move to another node before it ends. */
export type Begin = () => Promise<OpenTransaction>;

/** The location of a workspace's rows. Both fields are '' on a single server. */
export interface Place {
  /** The part of the workspace tables that holds the rows. */
  readonly id: string;
  /** The node that holds this part, as `host:port`. */
  readonly node: string;
}

export const NODES = Symbol('NODES');

/** Locates workspaces: in a single database, or on the nodes of an engine that distributes its tables by workspace. */
export interface Nodes {
  /** Whether workspaces are distributed over several nodes. */
  readonly areSeveral: boolean;

  /** The location of a workspace, whether or not it exists. */
  placeOf(workspaceId: string): Promise<Place>;

  /** Like `placeOf`, but only from memory; undefined if unknown. */
  knownPlaceOf(workspaceId: string): Place | undefined;

  /** Runs a statement on one workspace, or on several of the same part; it is committed when this resolves. */
  run<Row>(workspaceId: string, statement: Statement, values: readonly Parameter[]): Promise<Row[]>;

  /** Opens a transaction for statements on a single workspace. */
  begin(workspaceId: string): Promise<OpenTransaction>;

  /** One per part of the workspace tables; together they cover all rows. Empty on a single server. */
  parts(): Promise<readonly Begin[]>;

  /** The pools of the nodes, without the coordinator's. */
  pools(): Promise<readonly pg.Pool[]>;

  end(): Promise<void>;
}

const HERE: Place = { id: '', node: '' };

const nothing = (): void => undefined;

/** All workspaces are in the service's only database. */
export class OneServer implements Nodes {
  readonly areSeveral = false;

  constructor(private readonly pool: pg.Pool) {}

  placeOf(): Promise<Place> {
    return Promise.resolve(HERE);
  }

  knownPlaceOf(): Place {
    return HERE;
  }

  run<Row>(_: string, statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    return execute(this.pool, statement, values);
  }

  async begin(): Promise<OpenTransaction> {
    const client = await this.pool.connect();
    client.on('error', nothing); // the current statement rejects too
    const release = (failure?: Error): void => {
      client.off('error', nothing);
      client.release(failure);
    };
    try {
      await client.query('BEGIN');
    } catch (error) {
      release(error as Error);
      throw error;
    }
    return { client, run: (statement, values) => execute(client, statement, values), release };
  }

  parts(): Promise<readonly Begin[]> {
    return Promise.resolve([]);
  }

  pools(): Promise<readonly pg.Pool[]> {
    return Promise.resolve([]);
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}

/** The table with which the others are colocated, and its distribution column. */
const ROOT = { table: 'workspaces', column: 'id' } as const;

/** The tables of a workspace, each after the tables that it references. */
export const DISTRIBUTED_TABLES: readonly { readonly table: string; readonly column: string }[] = [
  ROOT,
  ...[
    'blobs',
    'files',
    'versions',
    'changes',
    'checkpoints',
    'key_slots',
    'assets',
    'asset_idempotency_keys',
    'blob_leftovers',
    'push_subscriptions',
    'retention_marks',
    'retention_queue',
  ].map((table) => ({ table, column: 'workspace_id' })),
];

/**
 * Tables that name a workspace but are looked up by other columns. They stay on the coordinator, where a foreign key to a
 * distributed table is impossible; the purge of a workspace removes their rows.
 */
export const BOUND_TABLES = ['access_tokens', 'key_sessions', 'presence'] as const;

/** Foreign keys between tables of a workspace and tables of the coordinator, which the engine does not support. */
export const IMPOSSIBLE_REFERENCES = [
  ...BOUND_TABLES.map((table) => ({ table, name: `${table}_workspace_id_fkey` })),
  { table: 'workspaces', name: 'workspaces_user_id_fkey' },
] as const;

/** A local table that is registered with the engine: a transaction that changes it and a node is committed in two phases. */
export const SHARED_COMMITS = 'shared_commits';

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => `'${table}'::regclass`).join(', ');

/**
 * Whether `npm run distribute` has distributed the tables of this database.
 * @throws OperatorError when it has not finished, or ran for an earlier version: query results would be wrong
 */
export async function isDistributed(source: DataSource): Promise<boolean> {
  if (!(await isOnNodes((sql) => source.query(sql)))) return false;
  const [placed] = await source.query<{ areAll: boolean }[]>(
    `SELECT count(*) FILTER (WHERE logicalrelid = '${SHARED_COMMITS}'::regclass) = 1
        AND count(*) FILTER (WHERE logicalrelid IN (${TABLES}) AND partmethod <> 'n') = ${DISTRIBUTED_TABLES.length} AS "areAll"
     FROM pg_dist_partition`,
  );
  if (!placed?.areAll)
    throw new OperatorError(
      'The tables of this database are not yet distributed for this version; run `npm run distribute`.',
    );
  return true;
}
