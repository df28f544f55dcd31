import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { addressKey, RateLimiter } from '../platform/limits/index.js';

/** An instance reserves a 24th of the limit at a time: one round trip in fifty requests, where 1,200 are allowed. */
const LEASES = 24;

/** A user, or somebody who is none. */
export type LimitedClient = { readonly userId: string } | { readonly ip: string };

/** Under which a client is counted: an address stands for all who have not said who they are. */
export const limitKey = (client: LimitedClient): string =>
  'userId' in client ? `user:${client.userId}` : addressKey(client.ip);

/** The general limit: so many requests a minute for a user, or for the address of somebody who is none. */
@Injectable()
export class GeneralLimit {
  constructor(
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  /** @throws TooManyRequests */
  count(client: LimitedClient): Promise<void> {
    const { rateLimitPerMinute } = this.configuration;
    return this.rateLimiter.hit(limitKey(client), rateLimitPerMinute, Math.ceil(rateLimitPerMinute / LEASES));
  }
}
