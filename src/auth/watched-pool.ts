import type { Pool } from 'pg';
import { sqlState } from '../platform/database/index.js';
import { identityRequests } from './identity-request.js';

const LENT_AT_ONCE = 3;

/** What the identity handler's query builder uses of a connection. */
interface Connection {
  query(...query: readonly unknown[]): Promise<unknown>;
  release(): void;
}

/**
 * The service's pool as the identity handler gets it. The handler takes a failed query for an absent session and
 * answers 401, so that a moment without PostgreSQL would sign every client out; here its faults are kept in sight, on the request.
 */
export class WatchedPool {
  private readonly lendable = new Permits(LENT_AT_ONCE);

  constructor(private readonly pool: Pool) {}

  /** Lends a few connections alone: the handler holds one through a transaction, and others need the pool too. */
  async connect(): Promise<Connection> {
    await this.lendable.acquire();
    const client = await this.noting(() => this.pool.connect()).catch((error: unknown) => {
      this.lendable.release();
      throw error;
    });
    // A connection that dies between two queries says so by an event, which would end the process unheard.
    const onError = (error: Error): void => this.note(error);
    client.on('error', onError);
    const query = client.query.bind(client) as Connection['query'];
    return {
      query: (...parts) => this.noting(() => query(...parts)),
      release: () => {
        client.off('error', onError);
        client.release();
        this.lendable.release();
      },
    };
  }

  /** The pool is the service's, and ends with it. */
  end(): Promise<void> {
    return Promise.resolve();
  }

  /** Runs a query, or a check of ours, and keeps its fault in sight. */
  async noting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.note(error);
      throw error;
    }
  }

  private note(error: unknown): void {
    const request = identityRequests.getStore();
    if (request && !isRefusal(error)) request.fault ??= error as Error;
  }
}

/** So many at a time; the others wait their turn. */
class Permits {
  private readonly waiting: (() => void)[] = [];

  constructor(private left: number) {}

  async acquire(): Promise<void> {
    if (this.left > 0) this.left--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.left++;
  }
}

/** A value that PostgreSQL did not take (class 22) or a constraint (23): the handler's own business. */
function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '');
}
