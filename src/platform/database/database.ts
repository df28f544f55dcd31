import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import type { Pool, PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { DatabaseClient } from './database-client.js';
import {
  AmbiguousCommit,
  isConnectionLost,
  isUnanswered,
  nodeOfInternalError,
  sqlState,
} from './database-errors.js';
import {
  type ByNode,
  type NodeRouter,
  type NodeTransaction,
  SHARED_COMMITS,
  type ShardRows,
} from './distribution/index.js';
import { requestScope } from '../log/index.js';
import { DURABLE, WITHOUT_LIMITS } from './session.js';
import { endQuietly } from './silence.js';
import { type Parameter, statement, type Statement } from './statement.js';
import type { StatementLimiter } from './statement-limiter.js';

const ATTEMPTS = 3;
const RETRIED = new Set(['40001', '40P01']);

/**
 * A caller that waited longer than this for a connection that was then lost gets the error instead of waiting for another one.
 */
const RETRY_WITHIN_MS = 5_000;

/** The engine commits in two phases what has touched this table, even if no row of it. */
const shareCommit = statement('database.share_commit', `DELETE FROM ${SHARED_COMMITS} WHERE id = 0`);

/** The workspace that a transaction is about, and whether it may run on its node. */
interface About {
  readonly workspaceId?: string | undefined;
  readonly isOnNode?: boolean;
}
const NOTHING: About = {};

/** One open transaction. Functions that take part in a transaction take it as their first parameter. */
export interface Tx {
  readonly manager: EntityManager;
  run<Row>(statement: Statement, values: readonly Parameter[]): Promise<Row[]>;
}

/** A transaction about one workspace, perhaps on its node. */
export type WorkspaceTx = Pick<Tx, 'run'>;

/** A part of the tables of workspaces: the database itself, or a shard. */
export interface Part {
  /** Commits at once. */
  run: Tx['run'];
  transaction<T>(work: (tx: WorkspaceTx) => Promise<T>): Promise<T>;
}

/** A dedicated connection that commits each statement separately and has no time limits. */
export interface SessionWithoutTimeouts {
  run: Tx['run'];
  /** Must be called by the code that opened the session. Never rejects. */
  end(): Promise<void>;
}

/**
 * PostgreSQL as the domain uses it: prepared statements on the pool, and transactions. Danger: inside a transaction, use only
 * its `tx`; taking a second connection there can starve the pool forever.
 */
export class Database {
  private readonly leftOut = new AsyncLocalStorage<Set<string>>();

  /**
   * @param limiter queues statements and transactions before they reach the pool
   * @param router finds the node of a workspace, where workspaces are on several: statements then use their text for that
   */
  constructor(
    readonly dataSource: DataSource,
    private readonly limiter: StatementLimiter,
    private readonly router?: NodeRouter,
  ) {}

  /** Whether workspaces are on several nodes. */
  get isDistributed(): boolean {
    return this.router !== undefined;
  }

  /** The driver's own pool: TypeORM never names statements, and PostgreSQL plans an unnamed statement every time. */
  get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }

  /** Runs one prepared statement outside a transaction; it is committed when this resolves. */
  async run<Row>(statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    const { router, limiter } = this;
    if (!router || !statement.isOfWorkspace)
      return limiter.run(() => this.runOn<Row>(this.pool, statement, values));
    return limiter.run(
      async () => {
        const routed = statement.onShard === undefined ? undefined : await router.run(statement, values);
        return (routed as Row[] | undefined) ?? this.runOn<Row>(this.pool, statement, values);
      },
      await this.lineOf(router, String(values[0])),
    );
  }

  /**
   * The parts that the tables of workspaces have: the database itself, or a shard each. What is about all workspaces and locks,
   * or must not fail as a whole while a node is away, runs on one after the other.
   */
  async parts(): Promise<readonly Part[]> {
    if (!this.router) return [this];
    return (await this.router.parts()).map((begin) => {
      const transaction: Part['transaction'] = async (work) => onNode(await begin(), work);
      return { transaction, run: (statement, values) => transaction((tx) => tx.run(statement, values)) };
    });
  }

  /**
   * Does work on one part after the other, without those of a node that is away or that this process cannot reach (see
   * `notingAway`); on one server it fails with the database.
   */
  async onParts<T>(work: (part: Part) => Promise<T>): Promise<T[]> {
    if (!this.router) return [await work(this)];
    const results: T[] = [];
    for (const part of await this.parts()) {
      try {
        results.push(await work(part));
      } catch (error) {
        await this.leaveOut(error);
      }
    }
    return results;
  }

  /** Yields what a walk through each part finds, as `onParts`. */
  async *walkParts<T>(walk: (part: Part) => AsyncIterable<T>): AsyncGenerator<T, void> {
    for (const part of await this.parts()) {
      try {
        yield* walk(part);
      } catch (error) {
        await this.leaveOut(error);
      }
    }
  }

  /** Work whose caller must know what `onParts` and `walkParts` leave out in it: the nodes, as `host:port`. */
  async notingAway<T>(work: () => Promise<T>): Promise<{ result: T; leftOut: string[] }> {
    const leftOut = new Set<string>();
    const result = await this.leftOut.run(leftOut, work);
    return { result, leftOut: [...leftOut].sort() };
  }

  /** @returns `otherwise` when a node that the work needs is away; fails with the coordinator, and on one server as the work does */
  async unlessAway<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if ((await this.awayIn(error)) === undefined) throw error;
      return otherwise;
    }
  }

  /** @throws the error, unless it is of a node that is away or that this process cannot reach */
  private async leaveOut(error: unknown): Promise<void> {
    const node = isUnanswered(error) ? await this.router?.leftOutBy(error) : undefined;
    if (node === undefined) throw error;
    this.leftOut.getStore()?.add(node);
  }

  /** The node that is away and therefore the reason of an error. */
  private async awayIn(error: unknown): Promise<string | undefined> {
    return isUnanswered(error) ? this.router?.awayIn(error) : undefined;
  }

  /** The rows of all parts that answer. An order or a limit in the statement is that of each part. */
  async runOnParts<Row>(statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    return (await this.onParts((part) => part.run<Row>(statement, values))).flat();
  }

  /** @throws NodeAway when the node of the workspace is known to be away */
  async refuseAway(workspaceId: string): Promise<void> {
    await this.router?.refuseAway(workspaceId);
  }

  /** The node that has or would have a workspace; undefined on one server. */
  async nodeOf(workspaceId: string): Promise<string | undefined> {
    return this.router?.nodeOf(workspaceId);
  }

  /** Workspaces by their nodes; on one server all of them together. */
  async byNode(workspaceIds: readonly string[]): Promise<ByNode> {
    if (this.router) return this.router.byNode(workspaceIds);
    return { groups: workspaceIds.length === 0 ? [] : [workspaceIds], away: [] };
  }

  /** @param work called whenever a node that was away, or was left out, answers again; not on one server. It must not throw. */
  onNodeBack(work: () => void): void {
    this.router?.onBack(() => requestScope.exit(work)); // whoever's request has found it back
  }

  /**
   * Runs a statement (its `onPart`) for workspaces of one node in one commit: once for each shard, with the values for these
   * workspaces. Waits only a moment for a lock.
   * @param valuesOf gets places in `workspaceIds`
   * @returns the places and rows of each shard, without workspaces that are elsewhere or have moved: nothing was done for these
   */
  async runOnOneNode<Row>(
    statement: Statement,
    workspaceIds: readonly string[],
    valuesOf: (places: readonly number[]) => readonly Parameter[],
  ): Promise<ShardRows<Row>[]> {
    const { router } = this;
    if (!router) throw new Error('there are no nodes');
    const [first] = workspaceIds;
    const parts = await this.limiter.run(
      () => router.runTogether(statement, workspaceIds, valuesOf),
      first === undefined ? undefined : await this.lineOf(router, first),
    );
    return parts as ShardRows<Row>[];
  }

  /** The pools of the nodes that have workspaces and are not away; none where all are in one database. */
  async nodePools(): Promise<readonly Pool[]> {
    return (await this.router?.nodePools()) ?? [];
  }

  /** Closes the connections to the nodes. */
  async endNodes(): Promise<void> {
    await this.router?.end();
  }

  /** How many statements wait in the limiter or for a connection. */
  get waiting(): number {
    return this.limiter.waiting + this.pool.waitingCount;
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

  /** For admin commands that read everything: the pool of an instance has no connection to spare for them. */
  async sessionWithoutTimeouts(purpose: string): Promise<SessionWithoutTimeouts> {
    const client = this.dedicatedClient(purpose, 0);
    client.on('error', () => undefined); // the current statement rejects too
    const end = (): Promise<void> => endQuietly(client);
    try {
      await client.connect();
      await client.query(`${WITHOUT_LIMITS}; ${DURABLE}`);
      return { run: (statement, values) => this.runOn(client, statement, values), end };
    } catch (error) {
      await end();
      throw error;
    }
  }

  /**
   * Runs `work` in a READ COMMITTED transaction and returns only after PostgreSQL has confirmed the commit. `work` may run
   * again after a deadlock, a serialization failure or a connection lost before COMMIT was sent.
   * @throws AmbiguousCommit when the answer to COMMIT was lost
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt('BEGIN', work);
  }

  /**
   * As `transaction`, for statements of one workspace alone: where workspaces are on nodes it is one of its node, or goes through
   * the coordinator when this process cannot reach the node.
   */
  workspaceTransaction<T>(workspaceId: string, work: (tx: WorkspaceTx) => Promise<T>): Promise<T> {
    return this.attempt('BEGIN', work, { workspaceId, isOnNode: true });
  }

  /** `run` for a statement of the workspace $1 alone that changes it in a way that only one server can. */
  runInWorkspace<Row>(statement: Statement, values: readonly [string, ...Parameter[]]): Promise<Row[]> {
    if (!this.isDistributed) return this.run<Row>(statement, values);
    return this.workspaceTransaction(values[0], (tx) => tx.run<Row>(statement, values));
  }

  /**
   * As `transaction`, for changes to a workspace together with accounts or the catalogue: where workspaces are on nodes, both are
   * committed or none, also when the coordinator or the node crashes.
   * @param workspaceId the one that it changes
   */
  sharedTransaction<T>(work: (tx: Tx) => Promise<T>, workspaceId?: string): Promise<T> {
    if (!this.isDistributed) return this.transaction(work);
    const shared = async (tx: Tx): Promise<T> => {
      await tx.run(shareCommit, []);
      return work(tx);
    };
    return this.attempt('BEGIN', shared, { workspaceId, isOnNode: false });
  }

  /** Runs `work` on one consistent, read-only snapshot of the database. */
  snapshot<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work);
  }

  /** The node in whose line what is about a workspace waits first. */
  private lineOf(router: NodeRouter, workspaceId: string): string | Promise<string | undefined> {
    return router.knownNodeOf(workspaceId) ?? this.limiter.run(() => router.nodeOf(workspaceId));
  }

  private async attempt<T>(
    begin: string,
    work: (tx: Tx) => Promise<T>,
    { workspaceId, isOnNode }: About = NOTHING,
  ): Promise<T> {
    const { router, limiter } = this;
    const retryUntil = performance.now() + RETRY_WITHIN_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        if (!router || workspaceId === undefined)
          return await limiter.transaction(() => this.once(begin, work));
        const node = await this.lineOf(router, workspaceId);
        const onNode = isOnNode ? workspaceId : undefined;
        return await limiter.transaction(() => this.onceAnywhere(begin, work, onNode), node);
      } catch (error) {
        router?.note(error);
        const isLast = attempt === ATTEMPTS || performance.now() > retryUntil;
        if (isLast || error instanceof AmbiguousCommit || !mayRetry(error)) throw error;
      }
    }
  }

  private async onceAnywhere<T>(
    begin: string,
    work: (tx: Tx) => Promise<T>,
    workspaceId: string | undefined,
  ): Promise<T> {
    const node = workspaceId === undefined ? undefined : await this.router?.begin(workspaceId);
    return node ? onNode(node, work as (tx: WorkspaceTx) => Promise<T>) : this.once(begin, work);
  }

  private async once<T>(begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await client.query(begin);
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

  private async runOn<Row>(
    client: Pick<pg.ClientBase, 'query'>,
    { name, text, onNodes }: Statement,
    values: readonly Parameter[],
  ): Promise<Row[]> {
    const sql = this.isDistributed ? (onNodes ?? text) : text;
    try {
      const result = await client.query({ name, text: sql, values: [...values] });
      return result.rows as Row[];
    } catch (error) {
      this.router?.note(error);
      throw error;
    }
  }
}

async function onNode<T>(
  { client, run, from }: NodeTransaction,
  work: (tx: WorkspaceTx) => Promise<T>,
): Promise<T> {
  let failure: Error | undefined;
  try {
    const result = await work({ run: run as Tx['run'] });
    await commit(client, from);
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((lost: unknown) => (failure = lost as Error));
    throw error;
  } finally {
    client.release(failure);
  }
}

/**
 * PostgreSQL answers COMMIT with ROLLBACK if an error was swallowed inside the transaction; that must never look like success.
 */
async function commit(client: PoolClient, from = (error: unknown): unknown => error): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query('COMMIT')).command;
  } catch (error) {
    // Without an answer from the server itself, or from a node that it has asked, it is unknown whether it has committed.
    throw isUnknown(error) ? new AmbiguousCommit(from(error)) : from(error);
  }
  if (tag !== 'COMMIT')
    throw new Error(`the transaction ended with ${tag}: an error inside it was swallowed`);
}

function isUnknown(error: unknown): boolean {
  return sqlState(error) === undefined || isConnectionLost(error) || nodeOfInternalError(error) !== undefined;
}

function mayRetry(error: unknown): boolean {
  return RETRIED.has(sqlState(error) ?? '') || isConnectionLost(error);
}
