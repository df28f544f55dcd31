import { Global, Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Redis } from 'ioredis';
import type { Repository } from 'typeorm';
import { Clock } from '../clock.js';
import { Database } from '../database/index.js';
import { Log } from '../log.js';
import { REDIS } from '../redis.js';
import { Queues } from './fair-semaphore.js';
import { HitCounter, PostgresHitCounter, RateLimit, RateLimiter, RedisHitCounter } from './rate-limiter.js';

export { type FairLimits, FairSemaphore, Queues } from './fair-semaphore.js';
export { RateLimiter } from './rate-limiter.js';

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([RateLimit])],
  providers: [
    Queues,
    RateLimiter,
    {
      provide: HitCounter,
      inject: [REDIS, Database, getRepositoryToken(RateLimit), Clock, Log],
      useFactory: (
        redis: Redis | null,
        database: Database,
        counts: Repository<RateLimit>,
        clock: Clock,
        log: Log,
      ): HitCounter => {
        const counter = new PostgresHitCounter(database, counts);
        return redis ? new RedisHitCounter(redis, counter, clock, log) : counter;
      },
    },
  ],
  exports: [Queues, RateLimiter],
})
export class LimitsModule {}
