import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { addressKey, RateLimiter } from '../platform/limits/index.js';

/** An instance reserves a 24th of the limit at a time: one round trip in fifty requests, where 1,200 are allowed. */
const LEASES = 24;

/** The general limit: so many requests a minute for a user, or for the address of somebody who is none. */
@Injectable()
export class GeneralLimit {
  constructor(
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  /** @throws TooManyRequests */
  count(client: { userId: string } | { ip: string }): Promise<void> {
    const { rateLimitPerMinute } = this.configuration;
    const key = 'userId' in client ? `user:${client.userId}` : addressKey(client.ip);
    return this.rateLimiter.hit(key, rateLimitPerMinute, Math.ceil(rateLimitPerMinute / LEASES));
  }
}
