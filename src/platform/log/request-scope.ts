import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that is being processed. */
export interface RequestScope {
  readonly id: string;
  /** The client's network, as returned by `networkKey`. */
  readonly network: string;
  /** Set once the user is known. */
  userId?: string;
}

/**
 * All work for a request, at any depth, runs in its scope: log lines carry its id, and its statements count for its user. Danger:
 * that includes timers and loops that a request happens to start. What they do for everybody begins with `exit`, or it waits in the
 * line of one user. Only one per process: every AsyncLocalStorage in use makes each promise slower.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** Whose turn it is among users and networks: the user of the request, or its network until the user is known. */
export function clientInScope(): string | undefined {
  const scope = requestScope.getStore();
  return scope?.userId ?? scope?.network;
}
