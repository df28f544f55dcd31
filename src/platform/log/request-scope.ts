import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that is being worked for. */
export interface RequestScope {
  readonly id: string;
  /** The client's network, as `networkKey` has it. */
  readonly network: string;
  /** Once the user is known. */
  userId?: string;
}

/**
 * What is done for a request, however deep below, is done in its scope: log lines carry its id, and its statements count
 * as those of its user. One for the process: each such storage that was ever used costs every promise.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();
