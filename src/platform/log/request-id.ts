import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that is being worked for. What is logged meanwhile, however deep below, carries its id. */
export const requestId = new AsyncLocalStorage<string>();
