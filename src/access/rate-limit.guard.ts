import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import { KeyedCounter } from '../platform/async.js';
import { Configuration } from '../platform/config/index.js';
import {
  addressKey,
  declared,
  InFlightRequests,
  networkKey,
  TooManyRequests,
} from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { type AuthenticatedRequest, TRANSFER, UNLIMITED } from './route-access.js';

/** An instance reserves a 24th of the limit at a time: at 1,200 a minute, one round trip per fifty requests. */
const LEASES = 24;

/**
 * The limit of single-file transfers a minute, as a multiple of the general limit. A first sync sends one request per note, as
 * fast as it can: ten devices that fetch 5,000 notes each send 50,000. The number of concurrent requests limits their cost.
 */
const TRANSFERS = 50;

/** A user, or an unauthenticated address. */
export type LimitedClient = { readonly userId: string } | { readonly ip: string };

/** The key that counts a client: its user id, or its address if it is unauthenticated. */
export const limitKey = (client: LimitedClient): string =>
  'userId' in client ? `user:${client.userId}` : addressKey(client.ip);

/** The request limit per minute, for each user or, without authentication, for each address. */
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

/** Concurrent requests of one client: fifteen devices with sixteen each. Eight such clients fit into MAX_IN_FLIGHT. */
const AT_ONCE = 250;

/** The limit for all unauthenticated clients of one IPv6 /48, where each /64 counts as a client. */
const AT_ONCE_OF_NETWORK = 2 * AT_ONCE;

const RETRY_AFTER_S = 1;

/**
 * Answers 429 over a limit; `AuthenticationGuard` counts the requests without a valid token. Also limits concurrent requests per
 * client, so that a client with slow uploads or downloads occupies only a few of the slots for requests in flight.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  private readonly underWay = new KeyedCounter();

  constructor(
    private readonly configuration: Configuration,
    private readonly limit: GeneralLimit,
    private readonly inFlight: InFlightRequests,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (declared(context, UNLIMITED)) return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Partial<AuthenticatedRequest> & { ip: string }>();
    const client = request.principal ?? request;
    await (declared(context, TRANSFER) ? this.limit.countTransfers(client) : this.limit.count(client));
    this.enter(client, http.getResponse<FastifyReply>().raw);
    return true;
  }

  /** Counts a request until it ends. @throws TooManyRequests when the client has too many requests in flight */
  private enter(client: LimitedClient, response: ServerResponse): void {
    if (this.configuration.rateLimitPerMinute === 0) return;
    const limits: [string, number][] = [[limitKey(client), AT_ONCE]];
    if ('ip' in client) limits.push([networkKey(client.ip), AT_ONCE_OF_NETWORK]);
    if (limits.some(([key, most]) => this.underWay.of(key) >= most)) throw new TooManyRequests(RETRY_AFTER_S);
    for (const [key] of limits) this.underWay.increment(key);
    this.inFlight.whenOver(response, () => {
      for (const [key] of limits) this.underWay.decrement(key);
    });
  }
}
