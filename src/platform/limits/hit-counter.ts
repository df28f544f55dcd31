import type { Redis } from 'ioredis';
import { LessThan, type Repository } from 'typeorm';
import type { Clock } from '../clock/index.js';
import { Database, statement } from '../database/index.js';
import type { Log } from '../log/index.js';
import type { RateLimit } from './rate-limit.entity.js';

export const WINDOW_MS = 60_000;

/** After Redis fails to answer, it is not used for this long, so that requests do not wait for it one by one. */
const ASK_AGAIN_AFTER_MS = 5_000;

/** Counts hits per key and minute across all instances. */
export abstract class HitCounter {
  /** Adds hits to the minute that starts at `windowStart` and returns the new count. */
  abstract add(key: string, windowStart: number, hits: number): Promise<number>;

  /** Deletes past minutes. */
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
