import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { Configuration } from '../config/index.js';
import { Database } from '../database/index.js';
import { Log } from '../log.js';
import { type Counter, Metrics } from '../metrics.js';
import { ServiceUnavailable } from './api-errors.js';
import { InFlightRequests, loopTurn } from './in-flight.js';

/** Whether this is a health request, which is answered even when all other requests are refused. */
export const isHealth = (url: string): boolean => /^\/health(?:\/|\?|$)/.test(url);

/** Requests that are being processed. Each costs about 100 KiB apart from its response, so this many fit into 200 MiB. */
const MAX_IN_FLIGHT = 2_000;

/** Responses and messages that wait for clients to read them: a page may have 4 MiB, and its client may never read it. */
const MAX_UNREAD_BYTES = 256 * 1024 * 1024;

/**
 * Waiting statements per connection of the pool. At 20 ms each, which is a slow disk, the last one waits a second; at 5 s the
 * pool would give up.
 */
const MAX_WAITING_PER_CONNECTION = 50;

/** If a timer is this late twice in a row, the process cannot keep up. Once is not enough: the machine may have been paused. */
const MAX_DELAY_MS = 1_000;
const LATE_LOOKS = 2;
const LOOK_EVERY_MS = 500;

const RETRY_AFTER_S = 2;

type Reason = 'in_flight' | 'database' | 'event_loop' | 'share';

/**
 * Refuses requests early, before they cost anything, when there are more than can be answered in time: from half of a limit,
 * those of networks with more than an equal share; beyond the limit, all. Health requests and preflights are exempt. Also
 * disconnects slow readers so that their responses do not fill the memory.
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
      'Requests refused with 503 because of overload, by the limit that was exceeded',
      ['reason'],
    );
  }

  refuseRequestsOf(fastify: FastifyInstance): void {
    this.lastLook = performance.now();
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.timer.unref();
    fastify.addHook('preParsing', ({ url, ip, raw }, _reply, _body, done) => {
      const isExempt = isHealth(url);
      const refusal = isExempt ? undefined : this.refusal(ip);
      // A request that waits for its turn counts as in progress, which limits the number of waiting requests.
      const turn = isExempt || refusal ? undefined : loopTurn(() => raw.destroyed);
      if (turn) void turn.then(() => raw.destroyed || done());
      else done(refusal);
    });
  }

  /** The refusal for a request from this address, or undefined if it is accepted. */
  refusal(ip: string): ServiceUnavailable | undefined {
    const reason = this.reason(ip);
    if (!reason) return undefined;
    this.refusals.add({ reason });
    return new ServiceUnavailable('the service is overloaded', RETRY_AFTER_S);
  }

  /** Stops the checks: from now on, delays of the event loop cause no refusals, and slow readers are not disconnected. */
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

  /** The limit of which this fraction is exceeded. */
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
    if (cut > 0)
      this.log.warn({ connections: cut }, 'closed connections of clients that did not read their responses');
  }
}

const DRAIN_MS = 25_000;

/**
 * A load balancer that asked for readiness this recently will ask again, and gets this long to see the 503 and send requests
 * elsewhere.
 */
const PROBE_INTERVAL_MS = 30_000;
const NOTICE_MS = 5_000;

/** An active client on a keep-alive connection gets this long to send its next request, whose response says that it closes. */
const LAST_REQUEST_MS = 500;
const WAIT_MS = 10;

/**
 * Delays a shutdown until active requests have finished, at most 25 s: readiness fails first, then the port closes and each
 * response closes its connection. Only then are the other connections and the pool closed. No request that has reached this
 * process is refused because of the shutdown.
 */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown {
  /** Whether the process is about to end and should get no more requests. */
  isUnderWay = false;
  private askedAt: number | undefined;

  constructor(private readonly inFlight: InFlightRequests) {}

  noteReadinessProbe(): void {
    this.askedAt = performance.now();
  }

  /** Fails readiness from now on. Resolves when recent probes have had time to notice: immediately if there were none. */
  async begin(): Promise<void> {
    this.isUnderWay = true;
    const isAsked = this.askedAt !== undefined && performance.now() - this.askedAt < PROBE_INTERVAL_MS;
    if (isAsked) await new Promise((resolve) => setTimeout(resolve, NOTICE_MS).unref());
  }

  async beforeApplicationShutdown(): Promise<void> {
    const { inFlight, isUnderWay: wasAnnounced } = this;
    this.isUnderWay = true;
    inFlight.acceptNoMore();
    const now = performance.now();
    await until(async () => !wasAnnounced || (await inFlight.connections()) === 0, now + LAST_REQUEST_MS);
    await until(() => Promise.resolve(inFlight.count === 0), now + DRAIN_MS);
  }
}

async function until(isSo: () => Promise<boolean>, deadline: number): Promise<void> {
  while (!(await isSo()) && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}
