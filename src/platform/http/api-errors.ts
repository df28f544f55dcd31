import type { FastifyRequest } from 'fastify';

/**
 * The errors that a client may see: one class per status, sent as `{ error: message, ...fields }`, on pages as text. A message
 * never contains a secret or data of another user.
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

/** The URL only accepts the WebSocket protocol. */
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

/** A retry may succeed; nothing was partially written. */
export class ServiceUnavailable extends ApiError {
  readonly status = 503;
  constructor(message = 'the service is temporarily unavailable', retryAfterSeconds = 2) {
    super(message, {}, { 'retry-after': String(retryAfterSeconds) });
  }
}

/** A disk is full, that of DATA_DIR or of PostgreSQL. Unlike other 503s, this may last for days. */
export class NoRoom extends ServiceUnavailable {
  constructor() {
    super('the service has no disk space for uploads', 60);
  }
}

/** The account has no space for what was to be stored. */
export class InsufficientStorage extends ApiError {
  readonly status = 507;
}

const faults = new WeakMap<FastifyRequest, unknown>();

/** Records an error that ends a response after its start: the client can no longer be told, so the request's log line has it. */
export function noteFault(request: FastifyRequest, error: unknown): void {
  if (!(error instanceof ApiError)) faults.set(request, error);
}

export function faultOf(request: FastifyRequest): unknown {
  return faults.get(request);
}
