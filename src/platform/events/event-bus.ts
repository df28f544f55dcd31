import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../log/index.js';
import { type BusEvent, EventCarrier, type Topic } from './event-carrier.js';

/** @param detail what the publisher has said besides; always undefined for events of other instances */
export type Listener<Detail> = (key: string, origin: 'here' | 'elsewhere', detail?: Detail) => void;

/**
 * Tells all instances of what has been committed. Publishing never fails, never waits and is never part of a
 * transaction. An event may be lost, doubled or late: whoever must not miss anything also looks for itself now and
 * then, and at once after a gap.
 */
@Injectable()
export class EventBus implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly listeners = new Map<string, Set<Listener<never>>>();
  private readonly gapListeners = new Set<() => void>();

  constructor(
    private readonly carrier: EventCarrier,
    private readonly log: Log,
  ) {}

  /** To be called after COMMIT. Listeners here hear it now, those on other instances within milliseconds. */
  publish<Detail = never>(event: BusEvent<Detail>, detail?: NoInfer<Detail>): void {
    this.dispatch(event, 'here', detail);
    this.carrier.send(event);
  }

  on<Detail = never>(topic: Topic<Detail>, listener: Listener<NoInfer<Detail>>): void {
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

  private dispatch({ topic, key }: BusEvent, origin: 'here' | 'elsewhere', detail?: unknown): void {
    this.listeners
      .get(topic)
      ?.forEach((listener) => this.guarded(() => listener(key, origin, detail as never)));
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
