import type { RequestBody } from './bodies.js';

/** One request. Its URL is absolute. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody | undefined;
  /** Whether it may be sent again when nobody knows whether it was carried out. */
  readonly repeatable: boolean;
  /** The most attempts without an answer, if fewer than usual: for what had better be sent in smaller parts. */
  readonly attempts?: number | undefined;
  /** The body of a good answer is handed over as it comes, and is no longer repeated by then. */
  readonly streams?: boolean;
  readonly signal?: AbortSignal | undefined;
}
