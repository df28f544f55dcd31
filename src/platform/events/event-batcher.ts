import { randomUUID } from 'node:crypto';
import { Log } from '../log/index.js';
import type { BusEvent } from './event-carrier.js';

/** PostgreSQL takes 7,999 bytes. */
const MAX_PAYLOAD_BYTES = 7_000;

/** Beyond, what waits is dropped: listeners look for themselves, so this costs seconds and no change. */
const MAX_WAITING = 10_000;

/** A message costs PostgreSQL as much as a commit, and a busy service commits a thousand times a second. */
const BETWEEN_MS = 10;

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;

type Envelope = readonly [origin: string, events: readonly (readonly [topic: string, key: string])[]];

/**
 * Events on their way to the other instances: in memory, lost on a crash, and beyond 10,000 dropped, as listeners
 * look for themselves. The first goes at once; what comes within the next 10 ms goes with the next message, equal
 * events as one.
 */
export class EventBatcher {
  private readonly origin = randomUUID();
  private readonly waiting = new Map<string, BusEvent>();
  private sending: Promise<void> | undefined;
  private isClosed = false;
  private retryMs = FIRST_RETRY_MS;
  private endPause: () => void = () => undefined;

  constructor(
    private readonly post: (payload: string) => Promise<unknown>,
    private readonly log: Log,
  ) {}

  add(event: BusEvent): void {
    if (this.isClosed || this.waiting.size >= MAX_WAITING) return;
    this.waiting.set(`${event.topic} ${event.key}`, event);
    this.sending ??= this.sendAll();
  }

  /** What a payload of another instance says; nothing for our own, which has been heard here already. */
  read(payload: string): BusEvent[] {
    try {
      const [origin, events] = JSON.parse(payload) as Envelope;
      return origin === this.origin ? [] : events.map(([topic, key]) => ({ topic, key }));
    } catch {
      return []; // not of this service, or of another version of it
    }
  }

  /** Sends what is waiting, unless the link is down. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.endPause();
    await this.sending;
  }

  private async sendAll(): Promise<void> {
    while (this.waiting.size > 0) {
      const events = this.nextBatch();
      const isCut = this.waiting.size > 0;
      try {
        await this.post(JSON.stringify([this.origin, events.map(({ topic, key }) => [topic, key])]));
        this.retryMs = FIRST_RETRY_MS;
        if (!isCut) await this.pause(BETWEEN_MS);
      } catch (err) {
        if (this.isClosed) return;
        // Once an outage: it may last.
        if (this.retryMs === FIRST_RETRY_MS) this.log.warn({ err }, 'cannot tell the other instances');
        for (const event of events) this.waiting.set(`${event.topic} ${event.key}`, event);
        await this.pause(this.retryMs);
        this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
      }
    }
    this.sending = undefined; // with nothing between it and the last look: what came there would wait for the next event
  }

  /** Ended by `close`: a shutdown does not wait, for a link that is down least of all. */
  private async pause(ms: number): Promise<void> {
    if (this.isClosed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** All that waits, or as much of it as one message holds. */
  private nextBatch(): BusEvent[] {
    const events: BusEvent[] = [];
    let bytes = this.origin.length + 8;
    for (const [key, event] of this.waiting) {
      bytes += Buffer.byteLength(key) + 8;
      if (bytes > MAX_PAYLOAD_BYTES && events.length > 0) break;
      this.waiting.delete(key);
      events.push(event);
    }
    return events;
  }
}
