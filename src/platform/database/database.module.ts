import {
  type DynamicModule,
  Global,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import pg from 'pg';
import { DataSource, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { Configuration, OperatorError } from '../../config/index.js';
import { Log, requestScope } from '../log/index.js';
import { Metrics } from '../metrics/index.js';
import { connectFault } from './connect-fault.js';
import { createDataSource } from './data-source.js';
import { Database } from './database.js';
import { isDistributed, NodeRouter } from './distribution/index.js';
import { refuseTransactionPooler } from './pooler-check.js';
import { PlannerStatistics } from './planner-statistics.js';
import { SchemaCheck } from './schema-check.js';
import { migrateOnce, SchemaHistory } from './schema-history.js';
import { DATABASE_SERVER, provideServer, type Server } from './database-server.js';
import { endQuietly } from './silence.js';
import { StatementLimiter } from './statement-limiter.js';

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

/** Metrics of this instance's connection pool. */
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
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(DATABASE_SERVER) private readonly server: Server,
    private readonly database: Database,
  ) {}

  static with(entities: EntityTarget<ObjectLiteral>[]): DynamicModule {
    const dataSource = {
      provide: DataSource,
      inject: [Configuration, Log, DATABASE_SERVER],
      useFactory: (configuration: Configuration, log: Log, server: Server) =>
        connect(configuration, log, server, entities),
    };
    const database = {
      provide: Database,
      inject: [DataSource, DATABASE_SERVER, Configuration, Log],
      useFactory: async (
        source: DataSource,
        { statementsAtOnce }: Server,
        { databasePoolSize, databaseUrl }: Configuration,
        log: Log,
      ) =>
        new Database(
          source,
          new StatementLimiter({ atOnce: statementsAtOnce, connections: databasePoolSize }),
          await routerFor(source, databaseUrl, log),
        ),
    };
    return {
      module: DatabaseModule,
      providers: [
        provideServer,
        dataSource,
        database,
        PlannerStatistics,
        PoolMetrics,
        SchemaCheck,
        SchemaHistory,
      ],
      exports: [DataSource, Database, SchemaCheck, SchemaHistory],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.endNodes();
    await this.dataSource.destroy();
    await this.server.stop();
  }
}

/** Undefined where one server has all workspaces. */
async function routerFor(
  source: DataSource,
  url: string | undefined,
  log: Log,
): Promise<NodeRouter | undefined> {
  if (!url || !(await isDistributed(source))) return undefined;
  const coordinator = (source.driver as unknown as { master: pg.Pool }).master;
  return new NodeRouter({
    coordinator,
    url,
    onPoolError: onLostConnection(log),
    onChange: onNodeState(
      log,
      'a node is away, and its workspaces with it',
      'the node answers again, or has been replaced',
    ),
    onMissed: onNodeState(
      log,
      'this instance cannot reach a node; work on all nodes leaves it out',
      'this instance reaches the node again, or it has been replaced',
    ),
  });
}

/** Leaves the scope of the request that happened to open the connection. */
const onLostConnection =
  (log: Log) =>
  (err: unknown): void =>
    requestScope.exit(() => log.warn({ err }, 'a database connection was lost'));

/** Logs a warning when the state of a node begins, and a message when it ends. */
const onNodeState =
  (log: Log, begins: string, ends: string) =>
  (node: string, hasBegun: boolean): void =>
    requestScope.exit(() => {
      if (hasBegun) log.warn({ node }, begins);
      else log.info({ node }, ends);
    });

async function connect(
  configuration: Configuration,
  log: Log,
  server: Server,
  entities: EntityTarget<ObjectLiteral>[],
): Promise<DataSource> {
  const settings = {
    target: server.target,
    poolSize: configuration.databasePoolSize,
    entities,
    onPoolError: onLostConnection(log),
  };
  try {
    if (typeof server.target === 'string') await tryConnection(server.target);
    await migrateOnce(settings);
    return await createDataSource(settings).initialize();
  } catch (error) {
    await server.stop();
    throw connectFault(error);
  }
}
