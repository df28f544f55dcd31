import type { Pool } from 'pg';
import { sqlState } from '../platform/database/index.js';
import { networkKey } from '../platform/http/index.js';
import { type FairSemaphore, type Queues } from '../platform/limits/index.js';
import { identityRequests } from './identity-request.js';

const LIMITS = {
  atOnce: 3,
  waiting: 2_000,
  perOwner: { atOnce: 2, waiting: 500 }, // a request that ends 200 sessions asks for each at once
  waitMs: 5_000,
  busy: 'too many people are signing in; try again in a few seconds',
};

/** The owner of connections outside a request, when the service itself asks the library. */
const SERVICE = 'service';

/** What the identity handler's query builder uses of a connection. */
interface Connection {
  query(...query: readonly unknown[]): Promise<unknown>;
  release(): void;
}

/**
 * The service's pool as the identity handler gets it. The handler takes a failed query for an absent session and
 * answers 401, so that a moment without PostgreSQL would sign every client out; here its faults are kept in sight, on the request.
 */
export class IdentityPool {
  private readonly lendable: FairSemaphore;

  constructor(
    private readonly pool: Pool,
    queues: Queues,
  ) {
    this.lendable = queues.open('identity_connections', LIMITS);
  }

  /**
   * Lends few connections at a time, fairly by network: the handler holds one through a transaction, and the rest of the
   * service needs the pool too.
   */
  async connect(): Promise<Connection> {
    const request = identityRequests.getStore();
    const release = await this.noting(() => this.lendable.take(request ? networkKey(request.ip) : SERVICE));
    const client = await this.noting(() => this.pool.connect()).catch((error: unknown) => {
      release();
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
        release();
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

/** A value that PostgreSQL did not take (class 22) or a constraint (23): the handler's own business. */
function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '');
}
