import pg, { type Pool } from 'pg';
import {
  DataSource,
  type DataSourceOptions,
  DefaultNamingStrategy,
  type EntityTarget,
  getMetadataArgsStorage,
  type ObjectLiteral,
  type Logger,
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  type QueryRunner,
  type ReplicationMode,
} from 'typeorm';
import { binaryValueOf, safeInteger } from './statement.js';
import { connecting, DatabaseClient } from './database-server.js';
import type { ConnectionTarget } from './embedded/index.js';
import { migrations } from './migrations/index.js';
import { beginSession, beginWithoutTimeouts } from './session.js';
import type { StatementLimiter } from './statement-limiter.js';

export interface DataSourceSettings {
  /** A connection URL, or a connection to the embedded server. */
  target: string | ConnectionTarget;
  poolSize: number;
  /** Default: the entities of all loaded modules. */
  entities?: EntityTarget<ObjectLiteral>[];
  /** Queues the statements of repositories before they reach the pool, as `Database` does for its own statements. */
  limiter?: StatementLimiter;
  onPoolError: (error: unknown) => void;
  /** For migrations, which may wait and run without a time limit. */
  isWithoutTimeouts?: boolean;
}

/** Idle time after which TCP keep-alive probes a connection, in ms; the system default of two hours is too long. */
const KEEP_ALIVE_MS = 30_000;

const INT8: number = pg.types.builtins.INT8;

type UntypedLookup = (oid: number) => unknown;

/** Parses like pg, except bigint: cursors as strings would sort "10" before "9". */
const types = {
  getTypeParser: (oid: number, format: 'text' | 'binary' = 'text'): unknown => {
    if (format === 'binary') return binaryValueOf(oid);
    return oid === INT8 ? safeInteger : (pg.types.getTypeParser as UntypedLookup)(oid);
  },
};

/** Columns are named after properties, in snake_case. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(property: string, custom: string | undefined): string {
    return custom || property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  }
}

/**
 * The data source of the service. Repositories outside a transaction share the statement limiter with `Database`, and fail with
 * the driver's error: TypeORM's error contains the parameters, which must not be logged.
 */
export class ServiceDataSource extends DataSource {
  constructor(
    options: DataSourceOptions,
    private readonly limiter: StatementLimiter | undefined,
  ) {
    super(options);
  }

  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = this.createRunner(mode);
    if (this.limiter) takeTurns(runner, this.limiter);
    return runner;
  }

  get pool(): Pool {
    return (this.driver as unknown as { master: Pool }).master;
  }

  /** A runner for a caller that already holds a place in the limiter, such as a transaction. */
  createRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    const query = runner.query.bind(runner) as (...values: unknown[]) => Promise<unknown>;
    runner.query = (...values: unknown[]): Promise<never> =>
      query(...values).catch((error: unknown) => {
        throw ofDriver(error);
      }) as Promise<never>;
    return runner;
  }
}

function ofDriver(error: unknown): unknown {
  if (error instanceof QueryFailedError) return error.driverError;
  // A runner whose connection was lost between two queries reports that it was released.
  if (error instanceof QueryRunnerAlreadyReleasedError)
    return new Error('Connection terminated between two statements', { cause: error });
  return error;
}

const nothing = (): void => undefined;

/** TypeORM's own loggers print parameters; one of them is active whenever `DEBUG` is set. */
export const SILENT: Logger = {
  logQuery: nothing,
  logQueryError: nothing,
  logQuerySlow: nothing,
  logSchemaBuild: nothing,
  logMigration: nothing,
  log: nothing,
};

/** Holds a place in the limiter for as long as the runner has its connection. */
function takeTurns(runner: QueryRunner, limiter: StatementLimiter): void {
  const connect = runner.connect.bind(runner) as () => Promise<unknown>;
  const release = runner.release.bind(runner);
  let connection: Promise<unknown> | undefined;
  const begin = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const turn = limiter.run(async () => {
        const released = new Promise<void>((end) => {
          runner.release = () => release().finally(end);
        });
        resolve(await connect());
        await released;
      });
      turn.catch(reject);
    });
  runner.connect = () => (connection ??= begin());
}

/** The data source of the service or of its migrations. */
export function createDataSource({
  target,
  poolSize,
  entities = getMetadataArgsStorage().tables.map(({ target }) => target),
  limiter,
  onPoolError,
  isWithoutTimeouts = false,
}: DataSourceSettings): ServiceDataSource {
  // The driver parses the URL, so sockets, sslmode and so on work as its documentation says.
  const begin = isWithoutTimeouts ? beginWithoutTimeouts : beginSession;
  const where = typeof target === 'string' ? { connectionString: target } : target;
  const options: DataSourceOptions = {
    type: 'postgres',
    entities: entities as never[],
    namingStrategy: new SnakeCase(),
    migrations: migrations as never[],
    migrationsTableName: 'migrations',
    synchronize: false,
    logging: false,
    logger: SILENT,
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
  };
  return new ServiceDataSource(options, limiter);
}
