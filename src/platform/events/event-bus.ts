import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../log/index.js';
import type { BusEvent } from './bus-event.js';
import { EventCarrier } from './event-carrier.js';

/** @param by who caused it, where the publisher has said so; always undefined for events of other instances */
export type Listener = (key: string, origin: 'here' | 'elsewhere', by?: string) => void;

/**
 * Tells all instances of what has been committed. Publishing never fails, never waits and is never part of a
 * transaction. An event may be lost, doubled or late: whoever must not miss anything also looks for itself now and
 * then, and at once after a gap.
 */
@Injectable()
export class EventBus implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly gapListeners = new Set<() => void>();

  constructor(
    private readonly carrier: EventCarrier,
    private readonly log: Log,
  ) {}

  /** To be called after COMMIT. Listeners here hear it now, those on other instances within milliseconds. */
  publish(event: BusEvent, by?: string): void {
    this.dispatch(event, 'here', by);
    this.carrier.send(event);
  }

  on(topic: string, listener: Listener): void {
    const listeners = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, listeners);
    listeners.add(listener);
  }

  /** The link to the other instances was cut and is back: anything may have been missed. */
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

  private dispatch({ topic, key }: BusEvent, origin: 'here' | 'elsewhere', by?: string): void {
    this.listeners.get(topic)?.forEach((listener) => this.guarded(() => listener(key, origin, by)));
  }

  /** A listener's fault is its own: neither the write that was committed nor the other listeners may suffer. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (err) {
      this.log.error({ err }, 'a listener of the event bus failed');
    }
  }
}
