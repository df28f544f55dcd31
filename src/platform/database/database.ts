import pg, { type Pool, type PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import type { ServiceDataSource } from './data-source.js';
import { AmbiguousCommit, isConnectionLost, isOfAskedNode, sqlState } from './database-errors.js';
import { DatabaseClient } from './database-server.js';
import {
  type Begin,
  type Nodes,
  OneServer,
  type Place,
  type Run,
  SHARED_COMMITS,
} from './distribution/index.js';
import { DURABLE, endQuietly, WITHOUT_LIMITS } from './session.js';
import type { StatementLimiter } from './statement-limiter.js';
import { execute, type Parameter, statement, type Statement } from './statement.js';

const ATTEMPTS = 3;
const RETRIED = new Set(['40001', '40P01']);

/** A caller that waited longer than this for a connection that was then lost gets the error instead of another wait. */
const RETRY_WITHIN_MS = 5_000;

/** The engine commits in two phases any transaction that touches this table, even if it changes no row. */
const shareCommit = statement('database.share_commit', `DELETE FROM ${SHARED_COMMITS} WHERE id = 0`);

/** One open transaction. Functions that take part in a transaction take it as their first parameter. */
export interface Tx {
  readonly manager: EntityManager;
  run: Run;
}

/** A transaction on one workspace; on a distributed database it runs on the node of the workspace. */
export type WorkspaceTx = Pick<Tx, 'run'>;

/** A part of the workspace tables: the whole database, or a shard. */
export interface Part {
  /** Commits each statement separately. */
  run: Run;
  transaction<T>(work: (tx: WorkspaceTx) => Promise<T>): Promise<T>;
}

/**
 * PostgreSQL as the domain uses it: prepared statements on the pool, and transactions. Danger: inside a transaction, use only
 * its `tx`; taking a second connection there can starve the pool forever.
 */
export class Database {
  /**
   * @param limiter queues statements and transactions before they reach a pool
   * @param nodes locates the workspaces
   */
  constructor(
    readonly dataSource: ServiceDataSource,
    private readonly limiter: StatementLimiter,
    private readonly nodes: Nodes = new OneServer(dataSource.pool),
  ) {}

  /** Whether workspaces are distributed over several nodes, which have no accounts. */
  get isDistributed(): boolean {
    return this.nodes.areSeveral;
  }

  /** The driver's own pool: TypeORM never names statements, and PostgreSQL plans an unnamed statement every time. */
  get pool(): Pool {
    return this.dataSource.pool;
  }

  /** Number of statements that wait in the limiter or for a connection. */
  get waiting(): number {
    return this.limiter.waiting + this.pool.waitingCount;
  }

  /** Runs one prepared statement outside a transaction; it is committed when this resolves. */
  async run<Row>(statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    const { limiter, nodes } = this;
    if (!statement.isOfWorkspace) return limiter.run(() => this.runOn<Row>(this.pool, statement, values));
    const id = String([values[0]].flat()[0]);
    const send = ({ node }: Place): Promise<Row[]> =>
      limiter.run(() => nodes.run<Row>(id, statement, values), node);
    const place = this.placeOf(id);
    // No await when the place is known: callers rely on the order of their statements.
    return place instanceof Promise ? send(await place) : send(place);
  }

  /** The location of a workspace, whether or not it exists. */
  placeOf(workspaceId: string): Place | Promise<Place> {
    return this.nodes.knownPlaceOf(workspaceId) ?? this.limiter.run(() => this.nodes.placeOf(workspaceId));
  }

  /**
   * The parts of the workspace tables: the whole database, or one per shard. Work that locks rows across all workspaces runs on
   * one part after another.
   */
  async parts(): Promise<readonly Part[]> {
    const parts = await this.nodes.parts();
    if (parts.length === 0) return [this];
    return parts.map((begin) => {
      const transaction: Part['transaction'] = (work) => this.attempt(() => inPlace(begin, work));
      return { transaction, run: (statement, values) => transaction((tx) => tx.run(statement, values)) };
    });
  }

  /**
   * A connection outside the pool, not yet connected, with the settings of server and role. The caller must end it.
   * @param purpose shown in the server's list of connections
   * @param answerWithinMs a statement that takes longer fails, and the connection is then unusable. 0: no limit
   */
  dedicatedClient(purpose: string, answerWithinMs: number): pg.Client {
    const { options } = this.pool as unknown as { options: pg.ClientConfig };
    return new DatabaseClient({
      ...options,
      password: options.password, // not enumerable in the pool's options
      application_name: `cloud-sync-service ${purpose}`,
      query_timeout: answerWithinMs,
    });
  }

  /**
   * Runs `work` in a READ COMMITTED transaction and returns only after PostgreSQL has confirmed the commit. `work` may run
   * again after a deadlock, a serialization failure or a connection lost before COMMIT was sent.
   * @throws AmbiguousCommit when the answer to COMMIT was lost
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt(() => this.once('BEGIN', work));
  }

  /** Like `transaction`, for statements on a single workspace: on a distributed database it runs on the workspace's node. */
  async workspaceTransaction<T>(workspaceId: string, work: (tx: WorkspaceTx) => Promise<T>): Promise<T> {
    const begin: Begin = () => this.nodes.begin(workspaceId);
    const { node } = await this.placeOf(workspaceId);
    return this.attempt(() => inPlace(begin, work), node);
  }

  /**
   * Like `transaction`, for changes to workspaces and accounts together: on a distributed database, both are committed or
   * neither, even if the coordinator or a node crashes. The first statement that locks a workspace must be an UPDATE of its row,
   * because moving the shard drops the lock of a SELECT.
   * @param workspaceId a workspace whose node's queue the transaction waits in
   */
  async sharedTransaction<T>(work: (tx: Tx) => Promise<T>, workspaceId?: string): Promise<T> {
    if (!this.nodes.areSeveral) return this.transaction(work);
    const shared = async (tx: Tx): Promise<T> => {
      await tx.run(shareCommit, []);
      return work(tx);
    };
    const node = workspaceId === undefined ? undefined : (await this.placeOf(workspaceId)).node;
    return this.attempt(() => this.once('BEGIN', shared), node);
  }

  /** Runs `work` on one consistent, read-only snapshot of the database. */
  snapshot<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt(() => this.once('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work));
  }

  /** @param node the node whose queue it waits in first, if any */
  private async attempt<T>(work: () => Promise<T>, node?: string): Promise<T> {
    const retryUntil = performance.now() + RETRY_WITHIN_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.limiter.transaction(work, node);
      } catch (error) {
        const isLast = attempt === ATTEMPTS || performance.now() > retryUntil;
        if (isLast || error instanceof AmbiguousCommit || !mayRetry(error)) throw error;
      }
    }
  }

  private async once<T>(begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await client.query(begin);
      Object.assign(runner, { isTransactionActive: true }); // else a repository refuses to lock
      let result: T;
      try {
        result = await work({
          manager: runner.manager,
          run: (statement, values) => this.runOn(client, statement, values),
        });
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined); // a lost connection has rolled back already
        throw error;
      }
      await commit(client);
      return result;
    } finally {
      await runner.release();
    }
  }

  private runOn<Row>(
    on: Pick<pg.ClientBase, 'query'>,
    { name, text, onNodes, isBinary }: Statement,
    values: readonly Parameter[],
  ): Promise<Row[]> {
    return execute(on, { name, text: this.nodes.areSeveral ? onNodes : text, isBinary }, values);
  }
}

async function inPlace<T>(begin: Begin, work: (tx: WorkspaceTx) => Promise<T>): Promise<T> {
  const opened = await begin();
  const { client, run } = opened;
  let failure: Error | undefined;
  try {
    const result = await work({ run });
    await commit(client);
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((lost: unknown) => (failure = lost as Error));
    throw error;
  } finally {
    opened.release(failure);
  }
}

/** PostgreSQL answers COMMIT with ROLLBACK if an error was swallowed in the transaction; that must never look like success. */
async function commit(client: PoolClient): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query('COMMIT')).command;
  } catch (error) {
    // The outcome is unknown without an answer from the server itself and from every node it has asked.
    const isUnknown = sqlState(error) === undefined || isConnectionLost(error) || isOfAskedNode(error);
    throw isUnknown ? new AmbiguousCommit(error) : error;
  }
  if (tag !== 'COMMIT')
    throw new Error(`the transaction ended with ${tag}: an error inside it was swallowed`);
}

function mayRetry(error: unknown): boolean {
  return RETRIED.has(sqlState(error) ?? '') || isConnectionLost(error);
}

/** The rows of all parts, read one part after another. ORDER BY and LIMIT apply to each part separately. */
export async function runOnParts<Row>(
  database: Database,
  statement: Statement,
  values: readonly Parameter[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const part of await database.parts()) rows.push(...(await part.run<Row>(statement, values)));
  return rows;
}

/** A dedicated connection that commits each statement separately and has no time limits. */
export interface SessionWithoutTimeouts {
  readonly run: Run;
  /** Must be called by the code that opened the session. Never rejects. */
  end(): Promise<void>;
}

/** For admin commands that read everything: the pool of an instance has no connection to spare for them. */
export async function sessionWithoutTimeouts(
  database: Database,
  purpose: string,
): Promise<SessionWithoutTimeouts> {
  const client = database.dedicatedClient(purpose, 0);
  client.on('error', () => undefined); // the current statement rejects too
  const end = (): Promise<void> => endQuietly(client);
  try {
    await client.connect();
    await client.query(`${WITHOUT_LIMITS}; ${DURABLE}`);
    const run: Run = (statement, values) => {
      const text = database.isDistributed ? statement.onNodes : statement.text;
      return execute(client, { ...statement, text }, values);
    };
    return { run, end };
  } catch (error) {
    await end();
    throw error;
  }
}
