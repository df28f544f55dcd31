/** A request and its answers, to read beside the schemas. */
export interface Example {
  /** A JSON body. */
  readonly body?: unknown;
  /** JSON answers by status. */
  readonly answers?: Readonly<Record<number, unknown>>;
}

/** By operationId. */
export type Examples = Readonly<Record<string, Example>>;
