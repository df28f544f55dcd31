import type pg from 'pg';
import type { Pool, PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { DatabaseClient } from './database-client.js';
import { AmbiguousCommit, isConnectionLost, sqlState } from './database-errors.js';
import type { NodeRouter } from './distribution/index.js';
import { DURABLE, WITHOUT_LIMITS } from './session.js';
import { endQuietly } from './silence.js';
import type { Parameter, Statement } from './statement.js';
import type { StatementLimiter } from './statement-limiter.js';

const ATTEMPTS = 3;
const RETRIED = new Set(['40001', '40P01']);

/**
 * A caller that waited longer than this for a connection that was then lost gets the error instead of waiting for another one.
 */
const RETRY_WITHIN_MS = 5_000;

/** One open transaction. Functions that take part in a transaction take it as their first parameter. */
export interface Tx {
  readonly manager: EntityManager;
  run<Row>(statement: Statement, values: readonly Parameter[]): Promise<Row[]>;
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
    return this.limiter.run(async () => {
      const routed = statement.onShard === undefined ? undefined : await this.router?.run(statement, values);
      return (routed as Row[] | undefined) ?? this.runOn<Row>(this.pool, statement, values);
    });
  }

  /** The pools of the nodes that have workspaces; none where all are in one database. */
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

  /** Runs `work` on one consistent, read-only snapshot of the database. */
  snapshot<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work);
  }

  private async attempt<T>(begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const retryUntil = performance.now() + RETRY_WITHIN_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.limiter.transaction(() => this.once(begin, work));
      } catch (error) {
        const isLast = attempt === ATTEMPTS || performance.now() > retryUntil;
        if (isLast || error instanceof AmbiguousCommit || !mayRetry(error)) throw error;
      }
    }
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
    const result = await client.query({ name, text: sql, values: [...values] });
    return result.rows as Row[];
  }
}

/**
 * PostgreSQL answers COMMIT with ROLLBACK if an error was swallowed inside the transaction; that must never look like success.
 */
async function commit(client: PoolClient): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query('COMMIT')).command;
  } catch (error) {
    // Without an answer from the server itself, it is unknown whether it has committed.
    throw sqlState(error) === undefined || isConnectionLost(error) ? new AmbiguousCommit(error) : error;
  }
  if (tag !== 'COMMIT')
    throw new Error(`the transaction ended with ${tag}: an error inside it was swallowed`);
}

function mayRetry(error: unknown): boolean {
  return RETRIED.has(sqlState(error) ?? '') || isConnectionLost(error);
}
