import { ApiError } from '../platform/http/index.js';
import type { Readiness } from './readiness.js';

const RETRY_AFTER_S = 5;

/** This instance cannot do its work, or soon will not. */
export class NotReady extends ApiError {
  readonly status = 503;

  constructor(state: Readiness, isShuttingDown: boolean) {
    const message = isShuttingDown ? 'the service is shutting down' : 'the service is not ready';
    super(message, { ...state }, { 'retry-after': String(RETRY_AFTER_S) });
  }
}
