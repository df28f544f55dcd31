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
  /** @param failure of the connection, which is not used again then */
  release(failure?: Error): void;
}

/** Opens a transaction, which stays where the rows are until its end. */
export type Begin = () => Promise<OpenTransaction>;

/** Where the rows of a workspace are. Both are '' on one server. */
export interface Place {
  /** The part of the tables that has its rows. */
  readonly id: string;
  /** The node that has it, as `host:port`. */
  readonly node: string;
}

export const NODES = Symbol('NODES');

/** Where workspaces are: all in one database, or on the nodes of an engine that distributes its tables by workspace. */
export interface Nodes {
  /** Whether there are several. */
  readonly areSeveral: boolean;

  /** Where a workspace is or would be. */
  placeOf(workspaceId: string): Promise<Place>;

  /** As `placeOf`, if that is known without asking. */
  knownPlaceOf(workspaceId: string): Place | undefined;

  /** Runs a statement of a workspace, or of some of one part; it is committed when this resolves. */
  run<Row>(workspaceId: string, statement: Statement, values: readonly Parameter[]): Promise<Row[]>;

  /** Opens a transaction for statements of a workspace alone. */
  begin(workspaceId: string): Promise<OpenTransaction>;

  /** One for each part that the tables of workspaces have; together they have all rows. None on one server. */
  parts(): Promise<readonly Begin[]>;

  /** The pools of the nodes, without that of the coordinator. */
  pools(): Promise<readonly pg.Pool[]>;

  /** Closes the connections to the nodes. */
  end(): Promise<void>;
}

const HERE: Place = { id: '', node: '' };

const nothing = (): void => undefined;

/** All workspaces are in the one database that the service knows. */
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
    client.on('error', nothing); // the statement under way rejects too
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

/** The table that the others are placed with, and the column of its id. */
const ROOT = { table: 'workspaces', column: 'id' } as const;

/** The tables of a workspace in an order in which each comes after those that it refers to. */
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

/** The foreign keys between tables of a workspace and tables of the coordinator, which are impossible there. */
export const IMPOSSIBLE_REFERENCES = [
  ...BOUND_TABLES.map((table) => ({ table, name: `${table}_workspace_id_fkey` })),
  { table: 'workspaces', name: 'workspaces_user_id_fkey' },
] as const;

/** The local table that the engine knows: a transaction that changes it and a node is committed in two phases. */
export const SHARED_COMMITS = 'shared_commits';

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => `'${table}'::regclass`).join(', ');

/**
 * Whether `npm run distribute` has distributed the tables of this database.
 * @throws OperatorError when it has not done so to its end, or for an earlier version: lists would be wrong
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
