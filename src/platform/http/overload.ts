import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { Configuration } from '../../config/index.js';
import { Database } from '../database/index.js';
import { Log } from '../log/index.js';
import { type Counter, Metrics } from '../metrics/index.js';
import { ServiceUnavailable } from './api-errors.js';
import { InFlightRequests } from './in-flight.js';

/** Whether a request asks how the service is: it is answered whatever is refused else. */
export const isHealth = (url: string): boolean => /^\/health(?:\/|\?|$)/.test(url);

/** Requests under way, slow uploads included. Each costs some 100 KiB, its answer apart, so this many stay within 200 MiB. */
const MAX_IN_FLIGHT = 2_000;

/** Answers and messages that were made and wait for their clients to read them: a page may have 4 MiB, and its client may never read. */
const MAX_UNREAD_BYTES = 256 * 1024 * 1024;

/**
 * Statements that wait for each connection of the pool. At 20 ms each, which is a slow disk, the last waits a second;
 * at 5 s the pool would give up.
 */
const MAX_WAITING_PER_CONNECTION = 50;

/**
 * A timer that comes so late twice in a row: the process does not get round to its work. Once is no sign, as after a
 * pause of the machine.
 */
const MAX_DELAY_MS = 1_000;
const LATE_LOOKS = 2;
const LOOK_EVERY_MS = 500;

const RETRY_AFTER_S = 2;

type Reason = 'in_flight' | 'database' | 'event_loop' | 'share';

/**
 * Refuses requests early, before they cost anything, when more come than can be answered in time: those of networks with more
 * than an equal share from half of a limit on, those of all beyond it. Health and preflights are exempt.
 * Keeps answers that nobody reads from filling the memory.
 */
@Injectable()
export class Overload implements OnApplicationShutdown {
  private readonly refusals: Counter;
  private timer: NodeJS.Timeout | undefined;
  private lastLook = 0;
  private lateLooks = 0;

  constructor(
    private readonly configuration: Configuration,
    private readonly inFlight: InFlightRequests,
    private readonly database: Database,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.refusals = metrics.counter(
      'cloud_sync_overload_refusals_total',
      'Requests refused with 503 because too many were under way, by what ran out',
      ['reason'],
    );
  }

  refuseRequestsOf(fastify: FastifyInstance): void {
    this.lastLook = performance.now();
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.timer.unref();
    fastify.addHook('preParsing', (request, _reply, _body, done) => {
      done(isHealth(request.url) ? undefined : this.refusal(request.ip));
    });
  }

  /** The answer to a request from this address, if it is one too many. */
  refusal(ip: string): ServiceUnavailable | undefined {
    const reason = this.reason(ip);
    if (!reason) return undefined;
    this.refusals.add({ reason });
    return new ServiceUnavailable('the service is overloaded', RETRY_AFTER_S);
  }

  /** From now on a process that does not get round to its work refuses nothing for it, and ends no connection. */
  stopLooking(): void {
    clearInterval(this.timer);
    this.lateLooks = 0;
  }

  onApplicationShutdown(): void {
    this.stopLooking();
  }

  private reason(ip: string): Reason | undefined {
    const exceeded = this.exceeded(1);
    if (exceeded) return exceeded;
    return this.exceeded(0.5) && this.inFlight.hasMoreThanItsShare(ip) ? 'share' : undefined;
  }

  /** Which limit is exceeded, or this part of it. */
  private exceeded(part: 1 | 0.5): Reason | undefined {
    if (this.inFlight.areMoreThan(part * MAX_IN_FLIGHT)) return 'in_flight';
    const maxWaiting = MAX_WAITING_PER_CONNECTION * this.configuration.databasePoolSize;
    if (this.database.waiting > part * maxWaiting) return 'database';
    return this.lateLooks >= LATE_LOOKS ? 'event_loop' : undefined;
  }

  private look(): void {
    const now = performance.now();
    const isLate = now - this.lastLook - LOOK_EVERY_MS > MAX_DELAY_MS;
    this.lateLooks = isLate ? this.lateLooks + 1 : 0;
    this.lastLook = now;
    const cut = this.inFlight.cutUnread(MAX_UNREAD_BYTES);
    if (cut > 0) this.log.warn({ connections: cut }, 'connections were ended whose answers nobody read');
  }
}
