import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Configuration } from '../../config/index.js';
import { KeyedCounter } from '../../platform/async/index.js';
import { InFlightRequests, networkKey, TooManyRequests } from '../../platform/http/index.js';
import { type AuthenticatedRequest, TRANSFER, UNLIMITED } from '../index.js';
import { GeneralLimit, type LimitedClient, limitKey } from './general-limit.js';

/**
 * Under way for one client: fifteen devices that sync with sixteen each. Eight such clients fit into MAX_IN_FLIGHT.
 */
const AT_ONCE = 250;

/** The limit for all strangers of one IPv6 /48, where each /64 counts as a client. */
const AT_ONCE_OF_NETWORK = 2 * AT_ONCE;

const RETRY_AFTER_S = 1;

/** Whoever sends bodies slowly, or reads answers slowly, keeps the places of a few requests, not those of everybody else. */
@Injectable()
export class RequestsAtOnce {
  private readonly underWay = new KeyedCounter();

  constructor(
    private readonly configuration: Configuration,
    private readonly inFlight: InFlightRequests,
  ) {}

  /** Counts a request until it is over. @throws TooManyRequests when the client has too many others under way */
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

/** 429. Who has no valid token is counted by `AuthenticationGuard`. */
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
    await (isTransfer ? this.limit.countTransfer(client) : this.limit.count(client));
    this.atOnce.enter(client, http.getResponse<FastifyReply>().raw);
    return true;
  }
}
