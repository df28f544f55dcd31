declare const detail: unique symbol;

/** A kind of change; a domain module owns the word. `Detail` is what its publisher may say besides, to its own instance alone. */
export type Topic<Detail> = string & { readonly [detail]?: Detail };

/** That something about `key` has changed. What, other instances are not told: they read the truth from the database. */
export interface BusEvent<Detail = unknown> {
  readonly topic: Topic<Detail>;
  /** What it is about, such as a workspace's id. */
  readonly key: string;
}
