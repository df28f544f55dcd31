import { Injectable } from '@nestjs/common';
import { Configuration } from '../../config/index.js';
import { Clock } from '../clock/index.js';
import { Database, statement } from '../database/index.js';
import { TooManyRequests } from '../http/index.js';

const WINDOW_MS = 60_000;

const hit = statement(
  'rate_limits.hit',
  `INSERT INTO rate_limits AS r (key, window_start, hits) VALUES ($1, $2, 1)
   ON CONFLICT (key) DO UPDATE
   SET hits = CASE WHEN r.window_start = excluded.window_start THEN r.hits + 1 ELSE 1 END,
       window_start = excluded.window_start
   RETURNING hits`,
);

/** Counts per clock minute, in PostgreSQL, so that all instances count together. */
@Injectable()
export class RateLimiter {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws TooManyRequests from hit `perMinute` + 1 of `key` in this minute on */
  async hit(key: string, perMinute: number): Promise<void> {
    if (this.configuration.rateLimitPerMinute === 0) return;
    const now = this.clock.now().getTime();
    const windowStart = now - (now % WINDOW_MS);
    const [row] = await this.database.run<{ hits: number }>(hit, [key, new Date(windowStart)]);
    if (row && row.hits > perMinute)
      throw new TooManyRequests(Math.ceil((windowStart + WINDOW_MS - now) / 1000));
  }
}
