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
import { createDataSource, type DataSourceSettings } from './data-source.js';
import { Database } from './database.js';
import { migrate, underStartLock } from './migrate.js';
import { PlannerStatistics } from './planner-statistics.js';
import { SchemaCheck } from './schema-check.js';
import { DATABASE_SERVER, provideServer, type Server } from './database-server.js';
import { endQuietly } from './silence.js';
import { StatementLimiter } from './statement-limiter.js';

const CONNECT_WITHIN_MS = 5_000;

/**
 * Connects once as DATABASE_URL says, before anything is built on it: whatever goes wrong here is a fault of the URL, of a
 * `PG*` variable that completes it or of the server, which the operator can mend.
 * @throws OperatorError
 */
async function tryConnection(url: string): Promise<void> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_WITHIN_MS });
    client.on('error', () => undefined); // also rejects what is awaited
    await client.connect();
    await client.query('SELECT 1'); // which a connection for replication does not take
  } catch (error) {
    throw asSentence(error);
  } finally {
    if (client) await endQuietly(client);
  }
}

function asSentence(error: unknown): OperatorError {
  const fault = connectFault(error);
  if (fault instanceof OperatorError) return fault;
  const words = error instanceof Error ? error.message : String(error);
  return new OperatorError(
    `PostgreSQL cannot be used as DATABASE_URL and the PG* variables say (${words}); check their parameters.`,
    { cause: error },
  );
}

/** The pool of this instance in numbers. */
@Injectable()
class PoolMetrics {
  constructor(database: Database, metrics: Metrics) {
    metrics.gauge(
      'cloud_sync_database_pool',
      'Connections that are open, those of them that are idle, and statements that wait for one',
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

/** Brings up the embedded server if need be, connects, migrates; takes it all down last. */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(DATABASE_SERVER) private readonly server: Server,
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
      inject: [DataSource, DATABASE_SERVER, Configuration],
      useFactory: (source: DataSource, { statementsAtOnce }: Server, { databasePoolSize }: Configuration) =>
        new Database(
          source,
          new StatementLimiter({ atOnce: statementsAtOnce, connections: databasePoolSize }),
        ),
    };
    return {
      module: DatabaseModule,
      providers: [provideServer, dataSource, database, PlannerStatistics, PoolMetrics, SchemaCheck],
      exports: [DataSource, Database, SchemaCheck],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dataSource.destroy();
    await this.server.stop();
  }
}

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
    // Not the request's that happened to open the connection.
    onPoolError: (err: unknown) =>
      requestScope.exit(() => log.warn({ err }, 'a database connection was lost')),
  };
  try {
    if (typeof server.target === 'string') await tryConnection(server.target);
    await migrateOnce({ ...settings, poolSize: 2, isUnhurried: true });
    return await createDataSource(settings).initialize();
  } catch (error) {
    await server.stop();
    throw connectFault(error);
  }
}

/** On connections of its own: the pool's end a statement after seconds, and a migration may take longer. */
async function migrateOnce(settings: DataSourceSettings): Promise<void> {
  const dataSource = await createDataSource(settings).initialize();
  try {
    await underStartLock(dataSource, () => migrate(dataSource));
  } finally {
    await dataSource.destroy();
  }
}
