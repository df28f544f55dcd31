import type { FastifyRequest } from 'fastify';

/**
 * The errors that a caller may see: one class per status, answered as `{ error: message, ...fields }`, on pages as
 * text. A message never contains a secret or a row of somebody else.
 */
export abstract class ApiError extends Error {
  abstract readonly status: number;

  constructor(
    message: string,
    readonly fields: Record<string, unknown> = {},
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

export class BadRequest extends ApiError {
  readonly status = 400;
}

export class Unauthorized extends ApiError {
  readonly status = 401;
  constructor(message = 'a valid bearer token is required') {
    super(message, {}, { 'www-authenticate': 'Bearer' });
  }
}

export class PaymentRequired extends ApiError {
  readonly status = 402;
  constructor(message = 'an active subscription is required') {
    super(message);
  }
}

export class Forbidden extends ApiError {
  readonly status = 403;
}

export class NotFound extends ApiError {
  readonly status = 404;
}

export class RequestTimeout extends ApiError {
  readonly status = 408;
}

export class Conflict extends ApiError {
  readonly status = 409;
}

export class PreconditionFailed extends ApiError {
  readonly status = 412;
}

export class PayloadTooLarge extends ApiError {
  readonly status = 413;
}

export class UnsupportedMediaType extends ApiError {
  readonly status = 415;
}

export class RangeNotSatisfiable extends ApiError {
  readonly status = 416;
}

/** The address answers to the WebSocket protocol alone. */
export class UpgradeRequired extends ApiError {
  readonly status = 426;
  constructor() {
    super('a WebSocket upgrade is required', {}, { upgrade: 'websocket' });
  }
}

export class TooManyRequests extends ApiError {
  readonly status = 429;
  constructor(retryAfterSeconds: number) {
    super('too many requests', {}, { 'retry-after': String(retryAfterSeconds) });
  }
}

/** A retry may cure it; nothing was half-written. */
export class ServiceUnavailable extends ApiError {
  readonly status = 503;
  constructor(message = 'the service is temporarily unavailable', retryAfterSeconds = 2) {
    super(message, {}, { 'retry-after': String(retryAfterSeconds) });
  }
}

/** What was to be stored has no room in the account. */
export class InsufficientStorage extends ApiError {
  readonly status = 507;
}

const faults = new WeakMap<FastifyRequest, unknown>();

/** What breaks off an answer that has begun: nobody can be told any more, so it stands in the request's line of the log. */
export function noteFault(request: FastifyRequest, error: unknown): void {
  if (!(error instanceof ApiError)) faults.set(request, error);
}

export function faultOf(request: FastifyRequest): unknown {
  return faults.get(request);
}
