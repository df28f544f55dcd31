import pg from 'pg';
import { acceptBinaryResults } from './binary-results.js';

/** Errors of connections that were never established, whatever the reason. */
const failedConnects = new WeakSet<object>();

/**
 * Whether no connection could be established. Not a list of codes: names that do not resolve, refused passwords, missing
 * databases, TLS errors and servers that are full or starting all mean that the database is away.
 */
export function isFailedConnect(error: object): boolean {
  const { cause } = error as Error; // the pool wraps the error of a server that did not answer in time
  if (typeof cause === 'object' && cause !== null && failedConnects.has(cause)) return true;
  return failedConnects.has(error);
}

/** Runs what prepares a connection before its first use; a failure counts as a failure to connect. */
export async function connecting<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw marked(error);
  }
}

type OnConnect = (error: Error) => void;

/** A client of the driver that marks the errors of its connection phase for `isFailedConnect`, and reads binary results. */
export class DatabaseClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    acceptBinaryResults(this);
  }

  override connect(): Promise<this>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<this> | void {
    if (callback) {
      super.connect((error: Error | undefined) => callback(marked(error) as Error));
      return;
    }
    return connecting(async () => {
      await super.connect();
      return this;
    });
  }
}

function marked(error: unknown): unknown {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as { cause?: unknown }).cause)
    failedConnects.add(one);
  return error;
}
