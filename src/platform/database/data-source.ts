import pg from 'pg';
import { DataSource, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { connecting, DatabaseClient } from './database-client.js';
import type { ConnectionTarget } from './embedded/index.js';
import { migrations } from './migrations/index.js';
import { beginSession, beginWithoutTimeouts } from './session.js';

export interface DataSourceSettings {
  /** A connection URL, or the embedded server. */
  target: string | ConnectionTarget;
  poolSize: number;
  entities: EntityTarget<ObjectLiteral>[];
  onPoolError: (error: unknown) => void;
  /** For migrations, which may wait and run without a time limit. */
  isWithoutTimeouts?: boolean;
}

/** Idle time after which TCP keep-alive probes a connection, in ms; the system default of two hours is too long. */
const KEEP_ALIVE_MS = 30_000;

const INT8 = 20;

type UntypedLookup = (oid: number, format: 'text' | 'binary') => unknown;

/** Parses like pg, except bigint: cursors as strings would sort "10" before "9". */
const types = {
  getTypeParser: (oid: number, format: 'text' | 'binary' = 'text'): unknown =>
    oid === INT8 && format === 'text' ? parseInt8 : (pg.types.getTypeParser as UntypedLookup)(oid, format),
};

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error('a bigint exceeds the safe integers');
  return value;
}

/** The data source of the service or of its migrations. */
export function createDataSource({
  target,
  poolSize,
  entities,
  onPoolError,
  isWithoutTimeouts = false,
}: DataSourceSettings): DataSource {
  // The driver parses the URL, so sockets, sslmode and so on work as its documentation says.
  const begin = isWithoutTimeouts ? beginWithoutTimeouts : beginSession;
  const where = typeof target === 'string' ? { connectionString: target } : target;
  return new DataSource({
    type: 'postgres',
    entities: entities as never[],
    migrations: migrations as never[],
    migrationsTableName: 'migrations',
    synchronize: false,
    logging: false,
    logger: 'debug', // the others print a failed migration regardless of `logging`
    poolSize,
    connectTimeoutMS: 5_000,
    applicationName: 'cloud-sync-service',
    installExtensions: false,
    poolErrorHandler(this: pg.Pool, error: unknown) {
      // A connection that is being closed may still receive the server's termination message.
      if (!this.ending) onPoolError(error);
    },
    extra: {
      ...where,
      types,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      Client: DatabaseClient,
      onConnect: (client: pg.ClientBase) => connecting(() => begin(client)),
    },
  });
}
