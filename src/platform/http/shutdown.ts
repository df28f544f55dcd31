import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { InFlightRequests } from './in-flight.js';

const DRAIN_MS = 25_000;

/** Who asked for readiness so lately will ask again, and gets so long to see the 503 and send requests elsewhere. */
const PROBE_INTERVAL_MS = 30_000;
const NOTICE_MS = 5_000;

/** A client at work on a kept connection gets so long to send its next request, whose answer says that it closes. */
const LAST_REQUEST_MS = 500;
const LOOK_EVERY_MS = 10;

/**
 * Holds a shutdown until the requests under way have ended, 25 s at most: readiness goes first, then the port closes and
 * each answer closes its connection. Only after it does the framework close what is left, and the pool. No request that
 * has reached this process is refused for it.
 */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown {
  private hasBegun = false;
  private askedAt: number | undefined;

  constructor(private readonly inFlight: InFlightRequests) {}

  /** Whether the process is about to end, so that nobody should send it more. */
  get isUnderWay(): boolean {
    return this.hasBegun;
  }

  /** Somebody has asked whether to send requests here. */
  noteReadinessProbe(): void {
    this.askedAt = performance.now();
  }

  /** From now on not ready. Resolves when who asks for that has had the time to see it: at once when nobody does. */
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
