declare const detail: unique symbol;

/** A kind of change; a domain module owns the word. `Detail` is what its publisher may say besides, to its own instance alone. */
export type Topic<Detail> = string & { readonly [detail]?: Detail };

/** That something about `key` has changed. What, other instances are not told: they read the truth from the database. */
export interface BusEvent<Detail = unknown> {
  readonly topic: Topic<Detail>;
  /** What it is about, such as a workspace's id. */
  readonly key: string;
}

/** What takes events to the other instances. It may lose them, and then says so by `onGap` once it works again. */
export abstract class EventCarrier {
  /** Connects, in the background when need be; a link that breaks is mended. */
  abstract open(onEvent: (event: BusEvent) => void, onGap: () => void): Promise<void>;

  /** Never throws, never waits; equal events that wait to be sent become one. */
  abstract send(event: BusEvent): void;

  abstract close(): Promise<void>;
}
