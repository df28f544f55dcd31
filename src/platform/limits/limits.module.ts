import { Global, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Clock } from '../clock/index.js';
import { Database } from '../database/index.js';
import { Log } from '../log/index.js';
import { REDIS } from '../redis/index.js';
import { HitCounter, PostgresHitCounter, RedisHitCounter } from './hit-counter.js';
import { Queues } from './queues.js';
import { RateLimiter } from './rate-limiter.js';

@Global()
@Module({
  providers: [
    Queues,
    RateLimiter,
    {
      provide: HitCounter,
      inject: [REDIS, Database, Clock, Log],
      useFactory: (redis: Redis | null, database: Database, clock: Clock, log: Log): HitCounter => {
        const counter = new PostgresHitCounter(database);
        return redis ? new RedisHitCounter(redis, counter, clock, log) : counter;
      },
    },
  ],
  exports: [Queues, RateLimiter],
})
export class LimitsModule {}
