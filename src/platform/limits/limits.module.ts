import { Global, Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Redis } from 'ioredis';
import type { Repository } from 'typeorm';
import { Clock } from '../clock/index.js';
import { Database } from '../database/index.js';
import { Log } from '../log/index.js';
import { REDIS } from '../redis/index.js';
import { HitCounter, PostgresHitCounter, RedisHitCounter } from './hit-counter.js';
import { Queues } from './queues.js';
import { RateLimit } from './rate-limit.entity.js';
import { RateLimiter } from './rate-limiter.js';

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
