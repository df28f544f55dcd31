import type { BusEvent } from './bus-event.js';

/** What takes events to the other instances. It may lose them, and then says so by `onGap` once it works again. */
export abstract class EventCarrier {
  /** Connects, in the background when need be; a link that breaks is mended. */
  abstract open(onEvent: (event: BusEvent) => void, onGap: () => void): Promise<void>;

  /** Never throws, never waits; equal events that wait to be sent become one. */
  abstract send(event: BusEvent): void;

  abstract close(): Promise<void>;
}
