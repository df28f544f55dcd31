import type { RequestBody } from './bodies.js';

/** One request, with an absolute URL. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody | undefined;
  /** Whether it may be repeated although it may already have been carried out. */
  readonly repeatable: boolean;
  /** Most attempts without an answer, if fewer than the default: for requests that can be split into smaller ones. */
  readonly attempts?: number | undefined;
  /** Return the body of a successful answer as a stream. From then on the request is not retried. */
  readonly streams?: boolean;
  readonly signal?: AbortSignal | undefined;
}
