import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Configuration } from '../config/index.js';
import { Clock } from '../clock/index.js';
import { TooManyRequests } from '../http/index.js';
import { Log } from '../log/index.js';
import { HitCounter, WINDOW_MS } from './hit-counter.js';

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
   * @param hits how many there are; all are counted or none
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
    if (bucket.left < hits) throw new TooManyRequests(this.secondsLeft());
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
