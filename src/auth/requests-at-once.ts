import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { Configuration } from '../config/index.js';
import { KeyedCounter } from '../platform/async/index.js';
import { InFlightRequests, TooManyRequests } from '../platform/http/index.js';
import { type LimitedClient, limitKey } from './general-limit.js';

/**
 * Under way for one client: fifteen devices that sync with sixteen each. Eight such clients fit into MAX_IN_FLIGHT.
 */
const AT_ONCE = 250;
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
    const key = limitKey(client);
    if (this.underWay.of(key) >= AT_ONCE) throw new TooManyRequests(RETRY_AFTER_S);
    this.underWay.increment(key);
    this.inFlight.whenOver(response, () => this.underWay.decrement(key));
  }
}
