import { Global, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Database } from '../database/index.js';
import { Log } from '../log/index.js';
import { REDIS } from '../redis/index.js';
import { EventBus } from './event-bus.js';
import { EventCarrier } from './event-carrier.js';
import { PostgresCarrier } from './postgres-carrier.js';
import { RedisCarrier } from './redis-carrier.js';

/** The event bus: over Redis if configured, otherwise over PostgreSQL. */
@Global()
@Module({
  providers: [
    EventBus,
    {
      provide: EventCarrier,
      inject: [REDIS, Database, Log],
      useFactory: (redis: Redis | null, database: Database, log: Log): EventCarrier =>
        redis ? new RedisCarrier(redis, log) : new PostgresCarrier(database, log),
    },
  ],
  exports: [EventBus],
})
export class EventsModule {}
