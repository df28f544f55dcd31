import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Configuration } from '../platform/config/index.js';
import { KeyedCounter } from '../platform/async/index.js';
import { InFlightRequests, networkKey, TooManyRequests } from '../platform/http/index.js';
import { type AuthenticatedRequest, TRANSFER, UNLIMITED } from './route-access.js';
import { GeneralLimit, type LimitedClient, limitKey } from './general-limit.js';

/** Concurrent requests of one client: fifteen devices that sync with sixteen each. Eight such clients fit into MAX_IN_FLIGHT. */
const AT_ONCE = 250;

/** The limit for all unauthenticated clients of one IPv6 /48, where each /64 counts as a client. */
const AT_ONCE_OF_NETWORK = 2 * AT_ONCE;

const RETRY_AFTER_S = 1;

/**
 * Limits concurrent requests per client, so that a client that sends bodies or reads answers slowly takes only a few of all
 * requests in flight.
 */
@Injectable()
export class RequestsAtOnce {
  private readonly underWay = new KeyedCounter();

  constructor(
    private readonly configuration: Configuration,
    private readonly inFlight: InFlightRequests,
  ) {}

  /** Counts a request until it ends. @throws TooManyRequests when the client has too many others in flight */
  enter(client: LimitedClient, response: ServerResponse): void {
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

/** Answers 429. Requests without a valid token are counted by `AuthenticationGuard`. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limit: GeneralLimit,
    private readonly atOnce: RequestsAtOnce,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(UNLIMITED, targets)) return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Partial<AuthenticatedRequest> & { ip: string }>();
    const client = request.principal ?? request;
    const isTransfer = this.reflector.getAllAndOverride<boolean | undefined>(TRANSFER, targets);
    await (isTransfer ? this.limit.countTransfers(client) : this.limit.count(client));
    this.atOnce.enter(client, http.getResponse<FastifyReply>().raw);
    return true;
  }
}
