import type { Pool } from 'pg';
import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { sqlState } from '../../platform/database/index.js';
import { networkKey } from '../../platform/http/index.js';
import { type FairSemaphore, type Queues } from '../../platform/limits/index.js';
import { identityRequests } from './identity-request.js';

/** The names of a table and its columns, for the identity library, which does not use the entities. */
export interface TableNames {
  readonly modelName: string;
  readonly fields: Record<string, string>;
}

export function tableOf(source: DataSource, entity: EntityTarget<ObjectLiteral>): TableNames {
  const { tableName, columns } = source.getMetadata(entity);
  const names = columns.map(({ propertyName, databaseName }) => [propertyName, databaseName] as const);
  return { modelName: tableName, fields: Object.fromEntries(names) };
}

const LIMITS = {
  atOnce: 3,
  waiting: 2_000,
  perOwner: { atOnce: 2, waiting: 500 }, // a request that ends 200 sessions sends all its queries at once
  waitMs: 5_000,
  busy: 'too many people are signing in; try again in a few seconds',
};

/** The queue owner of connections outside requests, when the service itself calls the library. */
const SERVICE = 'service';

/** The part of a connection that the identity handler's query builder uses. */
interface Connection {
  query(...query: readonly unknown[]): Promise<unknown>;
  release(): void;
}

/**
 * The service's pool as the identity handler sees it. The handler treats a failed query as a missing session and answers 401, so
 * a moment without PostgreSQL would sign every client out. This class records the fault on the request instead.
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
   * Limits concurrent connections, fairly by network: the handler holds one for a whole transaction, and the rest of the service
   * shares the pool.
   */
  async connect(): Promise<Connection> {
    const request = identityRequests.getStore();
    const release = await this.noting(() => this.lendable.take(request ? networkKey(request.ip) : SERVICE));
    const client = await this.noting(() => this.pool.connect()).catch((error: unknown) => {
      release();
      throw error;
    });
    // A connection that breaks between two queries emits an 'error' event, which ends the process if it has no listener.
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

  /** Does nothing: the service owns the pool and closes it. */
  end(): Promise<void> {
    return Promise.resolve();
  }

  /** Runs a query or another check, and records its fault on the request. */
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

/** A value that PostgreSQL rejects (class 22) or a constraint violation (23): the handler deals with these itself. */
function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '');
}
