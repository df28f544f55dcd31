import type { FastifyRequest } from 'fastify';
import { ApiError } from './errors.js';

const faults = new WeakMap<FastifyRequest, unknown>();

/** What breaks off an answer that has begun: nobody can be told any more, so it stands in the request's line of the log. */
export function noteFault(request: FastifyRequest, error: unknown): void {
  if (!(error instanceof ApiError)) faults.set(request, error);
}

export function faultOf(request: FastifyRequest): unknown {
  return faults.get(request);
}
