import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { InFlightRequests } from './in-flight.js';

const DRAIN_MS = 25_000;

/**
 * A load balancer that asked for readiness this recently will ask again, and gets this long to see the 503 and send requests
 * elsewhere.
 */
const PROBE_INTERVAL_MS = 30_000;
const NOTICE_MS = 5_000;

/** An active client on a keep-alive connection gets this long to send its next request, whose response says that it closes. */
const LAST_REQUEST_MS = 500;
const LOOK_EVERY_MS = 10;

/**
 * Delays a shutdown until active requests have finished, at most 25 s: readiness fails first, then the port closes and each
 * response closes its connection. Only then does the framework close the rest, and the pool. No request that has reached this
 * process is refused because of the shutdown.
 */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown {
  private hasBegun = false;
  private askedAt: number | undefined;

  constructor(private readonly inFlight: InFlightRequests) {}

  /** Whether the process is about to end and should get no more requests. */
  get isUnderWay(): boolean {
    return this.hasBegun;
  }

  /** Records a readiness probe. */
  noteReadinessProbe(): void {
    this.askedAt = performance.now();
  }

  /** Not ready from now on. Resolves when recent readiness probes have had time to see it: immediately if there were none. */
  async begin(): Promise<void> {
    this.hasBegun = true;
    const isAsked = this.askedAt !== undefined && performance.now() - this.askedAt < PROBE_INTERVAL_MS;
    if (isAsked) await new Promise((resolve) => setTimeout(resolve, NOTICE_MS).unref());
  }

  async beforeApplicationShutdown(): Promise<void> {
    const { inFlight, hasBegun: wasAnnounced } = this;
    this.hasBegun = true;
    inFlight.acceptNoMore();
    const now = performance.now();
    await until(async () => !wasAnnounced || (await inFlight.connections()) === 0, now + LAST_REQUEST_MS);
    await until(() => Promise.resolve(inFlight.count === 0), now + DRAIN_MS);
  }
}

async function until(isSo: () => Promise<boolean>, deadline: number): Promise<void> {
  while (!(await isSo()) && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
