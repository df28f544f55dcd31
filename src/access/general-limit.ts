import { Injectable } from '@nestjs/common';
import { Configuration } from '../platform/config/index.js';
import { addressKey } from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';

/** An instance reserves a 24th of the limit at a time: at 1,200 a minute, one round trip per fifty requests. */
const LEASES = 24;

/**
 * The limit of single-file transfers a minute, as a multiple of the general limit. A first sync sends one request per note, as
 * fast as it can: ten devices that fetch 5,000 notes each send 50,000. The number of concurrent requests limits their cost.
 */
const TRANSFERS = 50;

/** A user, or an unauthenticated address. */
export type LimitedClient = { readonly userId: string } | { readonly ip: string };

/** The key under which a client is counted: a user, or an address for all its unauthenticated clients. */
export const limitKey = (client: LimitedClient): string =>
  'userId' in client ? `user:${client.userId}` : addressKey(client.ip);

/** The limits of all requests: a number a minute for each user, or for the address of an unauthenticated client. */
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

  /** Counts the transfers of single files, separately from all other requests. @throws TooManyRequests */
  countTransfers(client: LimitedClient, files = 1): Promise<void> {
    const perMinute = TRANSFERS * this.configuration.rateLimitPerMinute;
    return this.hit(`transfer:${limitKey(client)}`, perMinute, files);
  }

  private hit(key: string, perMinute: number, hits?: number): Promise<void> {
    return this.rateLimiter.hit(key, perMinute, Math.ceil(perMinute / LEASES), hits);
  }
}
