import { type DynamicModule, Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { Configuration } from '../../config/index.js';
import { Log, requestScope } from '../log/index.js';
import { connectFault } from './connect-fault.js';
import { createDataSource, type DataSourceSettings } from './data-source.js';
import { Database } from './database.js';
import { tryConnection } from './first-connection.js';
import { DATABASE_SERVER, provideServer, type Server } from './server.js';
import { migrate, underStartLock } from './migrate.js';
import { PlannerStatistics } from './planner-statistics.js';
import { PoolMetrics } from './pool-metrics.js';
import { SchemaCheck } from './schema-check.js';
import { StatementLimiter } from './statement-limiter.js';

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
