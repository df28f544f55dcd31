import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Configuration } from '../../config/index.js';
import { Clock } from '../clock/index.js';
import { Database, statement } from '../database/index.js';
import { TooManyRequests } from '../http/index.js';
import { Log } from '../log/index.js';

const WINDOW_MS = 60_000;
const FORGET_EVERY_MS = 10 * 60_000;

/** Keys remembered at once; beyond, the oldest are forgotten, which is lenient but bounded. */
const MAX_BUCKETS = 50_000;

/**
 * An instance whose clock is behind counts into the minute that another has begun already: were that taken for an old
 * one, the two would wipe out each other's counts.
 */
const IS_THIS_MINUTE = `r.window_start - excluded.window_start IN (interval '0', interval '1 minute')`;

const reserve = statement(
  'rate_limits.reserve',
  `INSERT INTO rate_limits AS r (key, window_start, hits) VALUES ($1, $2, $3)
   ON CONFLICT (key) DO UPDATE
   SET hits = CASE WHEN ${IS_THIS_MINUTE} THEN r.hits ELSE 0 END + excluded.hits,
       window_start = CASE WHEN ${IS_THIS_MINUTE} THEN r.window_start ELSE excluded.window_start END
   RETURNING hits`,
);

const forget = statement('rate_limits.forget', 'DELETE FROM rate_limits WHERE window_start < $1');

/** What this instance may still let through of a key in this minute. */
interface Bucket {
  left: number;
  isExhausted: boolean;
  /** The reservation under way. One at a time: a burst would reserve a lease for each of its requests. */
  refilling?: Promise<void> | undefined;
}

/**
 * Counts per clock minute. All instances of one database count together: each reserves hits there, one by one or by
 * the lease, so together they never let more through. A service with a database of its own counts in memory.
 */
@Injectable()
export class RateLimiter {
  private readonly buckets = new Map<string, Bucket>();
  private windowStart = 0;

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * @param lease hits that an instance reserves at a time: 1 is exact, more costs fewer round trips
   * @throws TooManyRequests from hit `perMinute` + 1 of `key` in this minute on
   */
  async hit(key: string, perMinute: number, lease = 1): Promise<void> {
    if (this.configuration.rateLimitPerMinute === 0) return;
    const bucket = this.bucketOf(key);
    while (bucket.left === 0 && !bucket.isExhausted) {
      bucket.refilling ??= this.refill(bucket, key, perMinute, lease).finally(
        () => (bucket.refilling = undefined),
      );
      await bucket.refilling;
    }
    if (bucket.left === 0) throw new TooManyRequests(this.secondsLeft());
    bucket.left--;
  }

  @Interval(FORGET_EVERY_MS)
  async forgetOldWindows(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - 2 * WINDOW_MS);
    await this.log.bestEffort('forget old rate limits', () => this.database.run(forget, [before]));
  }

  private async refill(bucket: Bucket, key: string, perMinute: number, lease: number): Promise<void> {
    if (!this.configuration.databaseUrl) {
      bucket.left = perMinute;
      bucket.isExhausted = true;
      return;
    }
    const [row] = await this.database.run<{ hits: number }>(reserve, [
      key,
      new Date(this.windowStart),
      lease,
    ]);
    const before = (row?.hits ?? 0) - lease;
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
    const [oldest] = this.buckets.keys();
    if (this.buckets.size >= MAX_BUCKETS && oldest !== undefined) this.buckets.delete(oldest);
    const bucket = { left: 0, isExhausted: false };
    this.buckets.set(key, bucket);
    return bucket;
  }

  private secondsLeft(): number {
    return Math.max(1, Math.ceil((this.windowStart + WINDOW_MS - this.clock.now().getTime()) / 1000));
  }
}
