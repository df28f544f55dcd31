import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { Redis } from 'ioredis';
import { Column, Entity, LessThan, PrimaryColumn, type Repository } from 'typeorm';
import { setNewest } from '../async.js';
import { Clock } from '../clock.js';
import { Configuration } from '../config/index.js';
import { Database, statement } from '../database/index.js';
import { TooManyRequests } from '../http/index.js';
import { Log } from '../log.js';

@Entity('rate_limits')
export class RateLimit {
  @PrimaryColumn('text')
  key: string;

  @Column('timestamptz')
  windowStart: Date;

  @Column('integer')
  hits: number;
}

export const WINDOW_MS = 60_000;

/** After Redis fails to answer, it is not used for this long, so that requests do not wait for it one by one. */
const ASK_AGAIN_AFTER_MS = 5_000;

/** Counts hits per key and minute across all instances. */
export abstract class HitCounter {
  /** Adds hits to the minute that starts at `windowStart` and returns the new count. */
  abstract add(key: string, windowStart: number, hits: number): Promise<number>;

  abstract forget(before: Date): Promise<void>;
}

/**
 * An instance whose clock is behind counts into the minute that another instance has already started: if that minute were
 * treated as an old one, the two would reset each other's counts.
 */
const IS_THIS_MINUTE = `r.window_start - excluded.window_start IN (interval '0', interval '1 minute')`;

const add = statement(
  'rate_limits.reserve',
  `INSERT INTO rate_limits AS r (key, window_start, hits) VALUES ($1, $2, $3)
   ON CONFLICT (key) DO UPDATE
   SET hits = CASE WHEN ${IS_THIS_MINUTE} THEN r.hits ELSE 0 END + excluded.hits,
       window_start = CASE WHEN ${IS_THIS_MINUTE} THEN r.window_start ELSE excluded.window_start END
   RETURNING hits`,
);

export class PostgresHitCounter extends HitCounter {
  constructor(
    private readonly database: Database,
    private readonly counts: Repository<RateLimit>,
  ) {
    super();
  }

  async add(key: string, windowStart: number, hits: number): Promise<number> {
    const [row] = await this.database.run<{ hits: number }>(add, [key, new Date(windowStart), hits]);
    return row?.hits ?? hits;
  }

  async forget(before: Date): Promise<void> {
    await this.counts.delete({ windowStart: LessThan(before) });
  }
}

/** Counts in Redis, or in PostgreSQL while Redis is unavailable, so that a limit is never simply off. */
export class RedisHitCounter extends HitCounter {
  private awayUntil = 0;

  constructor(
    private readonly redis: Redis,
    private readonly fallback: HitCounter,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    super();
  }

  async add(key: string, windowStart: number, hits: number): Promise<number> {
    if (this.clock.elapsed() < this.awayUntil) return this.fallback.add(key, windowStart, hits);
    const name = `cloud-sync:hits:${windowStart}:${key}`;
    try {
      const results = await this.redis
        .multi()
        .incrby(name, hits)
        .pexpire(name, 2 * WINDOW_MS)
        .exec();
      const [error, count] = results?.[0] ?? [new Error('Redis gave no answer'), undefined];
      if (error) throw error;
      return Number(count);
    } catch (err) {
      this.awayUntil = this.clock.elapsed() + ASK_AGAIN_AFTER_MS;
      this.log.warn({ err }, 'cannot count in Redis; counting in PostgreSQL');
      return this.fallback.add(key, windowStart, hits);
    }
  }

  forget(before: Date): Promise<void> {
    return this.fallback.forget(before);
  }
}

const FORGET_EVERY_MS = 10 * 60_000;

/** Maximum number of keys in memory; beyond it, the oldest are dropped, which is lenient but bounded. */
const MAX_BUCKETS = 50_000;

/** How many more hits of a key this instance may accept in this minute. */
interface Bucket {
  left: number;
  isExhausted: boolean;
  /** The reservation in progress. Only one at a time: otherwise a burst would reserve a lease for each of its requests. */
  refilling?: Promise<void> | undefined;
}

/**
 * Limits hits per clock minute. All instances share one count, in Redis or in their database: each reserves hits there, one by
 * one or as a lease, so that together they never exceed the limit. With the embedded database there is only one instance,
 * which counts in memory.
 */
@Injectable()
export class RateLimiter {
  private readonly buckets = new Map<string, Bucket>();
  private windowStart = 0;

  constructor(
    private readonly configuration: Configuration,
    private readonly counter: HitCounter,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * @param lease hits that an instance reserves at a time: 1 is exact, more needs fewer round trips
   * @param hits the number of hits; either all are counted or none
   * @throws TooManyRequests from hit `perMinute` + 1 of `key` in this minute
   */
  async hit(key: string, perMinute: number, lease = 1, hits = 1): Promise<void> {
    if (this.configuration.rateLimitPerMinute === 0) return;
    const bucket = this.bucketOf(key);
    while (bucket.left < hits && !bucket.isExhausted) {
      bucket.refilling ??= this.refill(bucket, key, perMinute, lease).finally(
        () => (bucket.refilling = undefined),
      );
      await bucket.refilling;
    }
    if (bucket.left < hits) {
      const msLeft = this.windowStart + WINDOW_MS - this.clock.now().getTime();
      throw new TooManyRequests(Math.max(1, Math.ceil(msLeft / 1000)));
    }
    bucket.left -= hits;
  }

  @Interval(FORGET_EVERY_MS)
  async forgetOldWindows(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - 2 * WINDOW_MS);
    await this.log.bestEffort('delete old rate limits', () => this.counter.forget(before));
  }

  private async refill(bucket: Bucket, key: string, perMinute: number, lease: number): Promise<void> {
    if (!this.configuration.databaseUrl && !this.configuration.redisUrl) {
      bucket.left = perMinute;
      bucket.isExhausted = true;
      return;
    }
    const before = (await this.counter.add(key, this.windowStart, lease)) - lease;
    bucket.left += Math.min(Math.max(perMinute - before, 0), lease);
    bucket.isExhausted = before + lease >= perMinute;
  }

  private bucketOf(key: string): Bucket {
    const now = this.clock.now().getTime();
    const windowStart = now - (now % WINDOW_MS);
    if (windowStart !== this.windowStart) {
      this.windowStart = windowStart;
      this.buckets.clear();
    }
    const known = this.buckets.get(key);
    if (known) return known;
    const bucket = { left: 0, isExhausted: false };
    setNewest(this.buckets, key, bucket, MAX_BUCKETS);
    return bucket;
  }
}
