import { Global, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Database } from '../database/index.js';
import { Log } from '../log.js';
import { REDIS } from '../redis.js';
import { PostgresCarrier, RedisCarrier } from './carriers.js';
import { EventBus, EventCarrier } from './event-bus.js';

export { EventBus, type Topic } from './event-bus.js';

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
