import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../log/index.js';
import { type BusEvent, EventCarrier, type Topic } from './event-carrier.js';

/** @param detail what the publisher added; always undefined for events from other instances */
export type Listener<Detail> = (key: string, origin: 'here' | 'elsewhere', detail?: Detail) => void;

/**
 * Tells all instances what was committed. Publishing never fails, never waits and is never part of a transaction. An event may
 * be lost, duplicated or late: a listener that must not miss anything also polls from time to time, and immediately after a
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
