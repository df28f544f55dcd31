import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool } from 'pg';
import { sqlState } from '../platform/database/index.js';

interface Watched {
  fault?: Error;
}

/** What the identity handler's query builder uses of a connection. */
interface Connection {
  query(...query: readonly unknown[]): Promise<unknown>;
  release(): void;
}

/**
 * The service's pool as the identity handler gets it. The handler takes a failed query for an absent session and
 * answers 401, so that a moment without PostgreSQL would sign every client out; here its faults are kept in sight.
 */
export class WatchedPool {
  private readonly requests = new AsyncLocalStorage<Watched>();

  constructor(private readonly pool: Pool) {}

  /** Runs work of the handler. @throws the fault of PostgreSQL that it met, whatever it has made of it */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    const watched: Watched = {};
    const result = await this.requests.run(watched, work);
    if (watched.fault) throw watched.fault;
    return result;
  }

  async connect(): Promise<Connection> {
    const client = await this.noting(() => this.pool.connect());
    const query = client.query.bind(client) as Connection['query'];
    return {
      query: (...parts) => this.noting(() => query(...parts)),
      release: () => client.release(),
    };
  }

  /** The pool is the service's, and ends with it. */
  end(): Promise<void> {
    return Promise.resolve();
  }

  private async noting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const request = this.requests.getStore();
      if (request && !isRefusal(error)) request.fault ??= error as Error;
      throw error;
    }
  }
}

/** A value that PostgreSQL did not take (class 22) or a constraint (23): the handler's own business. */
function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '');
}
