/** That something about `key` has changed, never what: listeners read the truth from the database. */
export interface BusEvent {
  /** The kind of change; a domain module owns the word. */
  readonly topic: string;
  /** What it is about, such as a workspace's id. */
  readonly key: string;
}
