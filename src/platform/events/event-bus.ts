import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Log } from '../log.js';

declare const detail: unique symbol;

/** A kind of change; a domain module owns the name. A publisher may add `Detail` for listeners on its own instance. */
export type Topic<Detail> = string & { readonly [detail]?: Detail };

/** Announces that `key` has changed. Other instances receive no details: they read the current state from the database. */
export interface BusEvent<Detail = unknown> {
  readonly topic: Topic<Detail>;
  /** Identifies what has changed, such as the id of a workspace. */
  readonly key: string;
}

/** Carries events to the other instances. May lose events, and then calls `onGap` once it works again. */
export abstract class EventCarrier {
  /** Connects, in the background if necessary; reconnects a broken link. */
  abstract open(onEvent: (event: BusEvent) => void, onGap: () => void): Promise<void>;

  /** Never throws or blocks; merges equal queued events. */
  abstract send(event: BusEvent): void;

  abstract close(): Promise<void>;
}

/** @param detail what the publisher added; always undefined for events from other instances */
export type Listener<Detail> = (key: string, origin: 'here' | 'elsewhere', detail?: Detail) => void;

/**
 * Notifies all instances of committed changes. Publishing never fails, never blocks and is never part of a transaction. An event
 * may be lost, duplicated or late: a listener that must not miss anything also polls from time to time, and immediately after a
 * gap.
 */
@Injectable()
export class EventBus implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly listeners = new Map<string, Set<Listener<never>>>();
  private readonly gapListeners = new Set<() => void>();

  constructor(
    private readonly carrier: EventCarrier,
    private readonly log: Log,
  ) {}

  /** Call this after COMMIT. Listeners on this instance are called immediately, those on other instances within milliseconds. */
  publish<Detail = never>(event: BusEvent<Detail>, detail?: NoInfer<Detail>): void {
    this.dispatch(event, 'here', detail);
    this.carrier.send(event);
  }

  on<Detail = never>(topic: Topic<Detail>, listener: Listener<NoInfer<Detail>>): void {
    const listeners = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, listeners);
    listeners.add(listener);
  }

  /** Called when the link to the other instances was interrupted and works again: any event may have been missed. */
  onGap(listener: () => void): void {
    this.gapListeners.add(listener);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.carrier.open(
      (event) => this.dispatch(event, 'elsewhere'),
      () => this.gapListeners.forEach((listener) => this.guarded(listener)),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.carrier.close();
  }

  private dispatch({ topic, key }: BusEvent, origin: 'here' | 'elsewhere', detail?: unknown): void {
    this.listeners
      .get(topic)
      ?.forEach((listener) => this.guarded(() => listener(key, origin, detail as never)));
  }

  /** The failure of a listener must affect neither the committed write nor other listeners. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (err) {
      this.log.error({ err }, 'a listener of the event bus failed');
    }
  }
}

/** PostgreSQL limits a NOTIFY payload to 7,999 bytes. */
const MAX_PAYLOAD_BYTES = 7_000;

/** Beyond this, events are dropped: listeners also poll, so this costs seconds but loses no change. */
const MAX_WAITING = 10_000;

/** For PostgreSQL, a message is as expensive as a commit, and a busy service commits a thousand times a second. */
const BETWEEN_MS = 10;

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;

type Envelope = readonly [origin: string, events: readonly (readonly [topic: string, key: string])[]];

/**
 * Queues events for the other instances: in memory, lost on a crash, and dropped beyond 10,000, because listeners also poll.
 * The first event is sent immediately; events within the next 10 ms share the next message, with duplicates merged.
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

  /** The events in a payload from another instance; none for our own payloads, whose events were delivered here already. */
  read(payload: string): BusEvent[] {
    try {
      const [origin, events] = JSON.parse(payload) as Envelope;
      return origin === this.origin ? [] : events.map(([topic, key]) => ({ topic, key }));
    } catch {
      return []; // not from this service, or from another version
    }
  }

  /** Sends the queued events, unless the link is down. */
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
        // Log once per outage: it may last.
        if (this.retryMs === FIRST_RETRY_MS) this.log.warn({ err }, 'cannot notify the other instances');
        for (const event of events) this.waiting.set(`${event.topic} ${event.key}`, event);
        await this.pause(this.retryMs);
        this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
      }
    }
    this.sending = undefined; // right after the last check: an event in between would wait for the next one
  }

  /** `close` ends the pause: a shutdown does not wait, especially not for a broken link. */
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

  /** All queued events, or as many as fit into one message. */
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
