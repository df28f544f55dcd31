import { Injectable } from '@nestjs/common';
import { Configuration } from '../../config/index.js';
import { addressKey } from '../../platform/http/index.js';
import { RateLimiter } from '../../platform/limits/index.js';

/** An instance reserves a 24th of the limit at a time: one round trip in fifty requests, where 1,200 are allowed. */
const LEASES = 24;

/**
 * How many times the general limit a user may transfer single files a minute. A first sync sends one request per note, as fast as it can:
 * ten devices that fetch 5,000 notes each send 50,000. What such requests cost is bounded by how many run at once.
 */
const TRANSFERS = 50;

/** A user, or somebody who is none. */
export type LimitedClient = { readonly userId: string } | { readonly ip: string };

/** Under which a client is counted: an address stands for all who have not said who they are. */
export const limitKey = (client: LimitedClient): string =>
  'userId' in client ? `user:${client.userId}` : addressKey(client.ip);

/** The limits of all requests: so many a minute for a user, or for the address of somebody who is none. */
@Injectable()
export class GeneralLimit {
  constructor(
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  /** @throws TooManyRequests */
  count(client: LimitedClient): Promise<void> {
    return this.hit(limitKey(client), this.configuration.rateLimitPerMinute);
  }

  /** Counts the transfer of one file, apart from all other requests. @throws TooManyRequests */
  countTransfer(client: LimitedClient): Promise<void> {
    return this.hit(`transfer:${limitKey(client)}`, TRANSFERS * this.configuration.rateLimitPerMinute);
  }

  private hit(key: string, perMinute: number): Promise<void> {
    return this.rateLimiter.hit(key, perMinute, Math.ceil(perMinute / LEASES));
  }
}
