import {
  type DynamicModule,
  Global,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { Configuration, OperatorError } from '../config/index.js';
import { Log, requestScope } from '../log.js';
import { Metrics } from '../metrics.js';
import { createDataSource, type ServiceDataSource } from './data-source.js';
import { connectFault } from './database-errors.js';
import { DATABASE_SERVER, provideServer, refuseTransactionPooler, type Server } from './database-server.js';
import { Database } from './database.js';
import { isDistributed, type Nodes, NODES, OneServer, ShardRouter } from './distribution/index.js';
import { migrateOnce, SchemaHistory, STORED_FUNCTIONS, type StoredFunctions } from './migrate.js';
import { PlannerStatistics, SchemaCheck } from './schema-check.js';
import { endQuietly } from './session.js';
import { StatementLimiter } from './statement-limiter.js';

export { isServiceRunning, runningServerUrl } from './database-server.js';
export {
  Database,
  type Part,
  runOnParts,
  sessionWithoutTimeouts,
  type Tx,
  type WorkspaceTx,
} from './database.js';
export { hasEmbeddedPostgres } from './embedded/binaries.js';
export { remainingWalBytes } from './embedded/socket-directory.js';
export { createDataSource, type ServiceDataSource } from './data-source.js';
export {
  AmbiguousCommit,
  isDiskFull,
  isForeignKeyViolation,
  isOfGoneUser,
  isOfGoneWorkspace,
  isTransient,
  isUnanswered,
  sqlState,
} from './database-errors.js';
export * from './in-batches.js';
export { instantText, newId } from './new-id.js';
export { DURABLE, endQuietly, WITHOUT_LIMITS } from './session.js';
export { PlannerStatistics, SCHEMA_OID, SchemaCheck, type SchemaState } from './schema-check.js';
export {
  appliedMigrations,
  migrate,
  type SchemaAge,
  SchemaHistory,
  type StoredFunctions,
  underStartLock,
} from './migrate.js';
export {
  BOUND_TABLES,
  distributeDatabase,
  DISTRIBUTED_TABLES,
  SHARED_COMMITS,
} from './distribution/index.js';
export { type Parameter, knownStatements, ofWorkspace, type Statement, statement } from './statement.js';
export { StatementLimiter } from './statement-limiter.js';

const CONNECT_WITHIN_MS = 5_000;

/**
 * Connects once with DATABASE_URL before anything else uses it: any failure here comes from the URL, from a `PG*` variable
 * that completes it or from the server, and the operator can fix it. Also refuses a pooler in transaction mode.
 * @throws OperatorError
 */
async function tryConnection(url: string): Promise<void> {
  let client: pg.Client | undefined;
  try {
    const config = { connectionString: url, connectionTimeoutMillis: CONNECT_WITHIN_MS };
    client = new pg.Client(config);
    client.on('error', () => undefined); // the awaited call rejects too
    await client.connect();
    await client.query('SELECT 1'); // fails on a replication connection
    await refuseTransactionPooler(client, config);
  } catch (error) {
    throw asSentence(error);
  } finally {
    if (client) await endQuietly(client);
  }
}

function asSentence(error: unknown): OperatorError {
  const fault = error instanceof OperatorError ? error : connectFault(error);
  if (fault instanceof OperatorError) return fault;
  const words = error instanceof Error ? error.message : String(error);
  return new OperatorError(
    `PostgreSQL cannot be used with DATABASE_URL and the PG* variables (${words}); check their parameters.`,
    { cause: error },
  );
}

@Injectable()
class PoolMetrics {
  constructor(database: Database, metrics: Metrics) {
    metrics.gauge(
      'cloud_sync_database_pool',
      'Open connections, the idle ones among them, and statements that wait for a connection',
      ['state'],
      () => {
        const { totalCount, idleCount } = database.pool;
        return [
          { labels: { state: 'open' }, value: totalCount },
          { labels: { state: 'idle' }, value: idleCount },
          { labels: { state: 'waiting' }, value: database.waiting },
        ];
      },
    );
  }
}

/** Starts the embedded server if needed, connects and migrates; shuts all of it down last. */
@Global()
@Module({
  providers: [
    provideServer,
    {
      provide: StatementLimiter,
      inject: [DATABASE_SERVER, Configuration],
      useFactory: ({ statementsAtOnce }: Server, { databasePoolSize }: Configuration) =>
        new StatementLimiter({ atOnce: statementsAtOnce, connections: databasePoolSize }),
    },
    {
      provide: DataSource,
      inject: [Configuration, Log, DATABASE_SERVER, StatementLimiter, STORED_FUNCTIONS],
      useFactory: connect,
    },
    {
      provide: NODES,
      inject: [DataSource, Configuration, Log, STORED_FUNCTIONS],
      useFactory: nodesOf,
    },
    {
      provide: Database,
      inject: [DataSource, StatementLimiter, NODES],
      useFactory: (source: ServiceDataSource, limiter: StatementLimiter, nodes: Nodes) =>
        new Database(source, limiter, nodes),
    },
    PlannerStatistics,
    PoolMetrics,
    SchemaCheck,
    SchemaHistory,
  ],
  exports: [DataSource, Database, SchemaCheck, SchemaHistory],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(DATABASE_SERVER) private readonly server: Server,
    @Inject(NODES) private readonly nodes: Nodes,
  ) {}

  /** @param functions the functions of the domain modules, which are loaded after the migrations */
  static with(functions: readonly StoredFunctions[]): DynamicModule {
    return { module: DatabaseModule, providers: [{ provide: STORED_FUNCTIONS, useValue: functions }] };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.nodes.end();
    await this.dataSource.destroy();
    await this.server.stop();
  }
}

async function nodesOf(
  source: ServiceDataSource,
  { databaseUrl }: Configuration,
  log: Log,
  functions: readonly StoredFunctions[],
): Promise<Nodes> {
  if (!databaseUrl || !(await isDistributed(source))) return new OneServer(source.pool);
  const onPoolError = onLostConnection(log);
  return new ShardRouter({ coordinator: source.pool, url: databaseUrl, functions, onPoolError });
}

/** Leaves the scope of the request that happened to open the connection. */
const onLostConnection =
  (log: Log) =>
  (err: unknown): void =>
    requestScope.exit(() => log.warn({ err }, 'a database connection was lost'));

async function connect(
  configuration: Configuration,
  log: Log,
  server: Server,
  limiter: StatementLimiter,
  functions: readonly StoredFunctions[],
): Promise<ServiceDataSource> {
  const settings = {
    target: server.target,
    poolSize: configuration.databasePoolSize,
    limiter,
    onPoolError: onLostConnection(log),
  };
  try {
    if (typeof server.target === 'string') await tryConnection(server.target);
    await migrateOnce({ ...settings, functions });
    const dataSource = createDataSource(settings);
    await dataSource.initialize();
    return dataSource;
  } catch (error) {
    await server.stop();
    throw connectFault(error);
  }
}
