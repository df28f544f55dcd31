import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Configuration, OperatorError } from './config/index.js';
import { Log } from './log.js';

/** The connection to Redis, or null if REDIS_URL is not set and PostgreSQL is used instead. */
export const REDIS = Symbol('REDIS');

@Global()
@Module({
  providers: [{ provide: REDIS, inject: [Configuration, Log], useFactory: connect }],
  exports: [REDIS],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: Redis | null) {}

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }
}

/** A command fails quickly instead of waiting for an unavailable Redis: no request hangs because of it. */
async function connect({ redisUrl }: Configuration, log: Log): Promise<Redis | null> {
  if (redisUrl === undefined) return null;
  // Loaded only if needed: 20 MB that most services do not use.
  const { Redis: Connection } = await import('ioredis');
  const redis = new Connection(redisUrl, {
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    retryStrategy: (attempt) => Math.min(attempt * 100, 5_000),
  });
  redis.on('error', (err) => log.warn({ err }, 'the connection to Redis failed'));
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw new OperatorError('Redis does not answer; check that it runs and that REDIS_URL points at it.', {
      cause: error,
    });
  }
}
