declare const detail: unique symbol;

/** A kind of change; a domain module owns the name. `Detail` is what its publisher may add, for its own instance only. */
export type Topic<Detail> = string & { readonly [detail]?: Detail };

/**
 * Says that something about `key` has changed. Other instances are not told what: they read the current state from the
 * database.
 */
export interface BusEvent<Detail = unknown> {
  readonly topic: Topic<Detail>;
  /** What has changed, such as a workspace's id. */
  readonly key: string;
}

/** Carries events to the other instances. It may lose them, and then calls `onGap` once it works again. */
export abstract class EventCarrier {
  /** Connects, in the background if necessary; reconnects a broken link. */
  abstract open(onEvent: (event: BusEvent) => void, onGap: () => void): Promise<void>;

  /** Never throws, never waits; merges equal events that wait to be sent. */
  abstract send(event: BusEvent): void;

  abstract close(): Promise<void>;
}
