import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDiskFull, isOfGoneUser, isTransient } from '../database/index.js';
import { Log } from '../log.js';

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

const withStatus = <Status extends number>(status: Status) =>
  class extends ApiError {
    readonly status = status;
  };

export class BadRequest extends withStatus(400) {}
export class Forbidden extends withStatus(403) {}
export class NotFound extends withStatus(404) {}
export class RequestTimeout extends withStatus(408) {}
export class Conflict extends withStatus(409) {}
export class PreconditionFailed extends withStatus(412) {}
export class PayloadTooLarge extends withStatus(413) {}
export class UnsupportedMediaType extends withStatus(415) {}
export class RangeNotSatisfiable extends withStatus(416) {}
export class ExpectationFailed extends withStatus(417) {}

export class Unauthorized extends withStatus(401) {
  constructor(message = 'a valid bearer token is required') {
    super(message, {}, { 'www-authenticate': 'Bearer' });
  }
}

export class PaymentRequired extends withStatus(402) {
  constructor(message = 'an active subscription is required') {
    super(message);
  }
}

export class UpgradeRequired extends withStatus(426) {
  constructor() {
    super('a WebSocket upgrade is required', {}, { upgrade: 'websocket' });
  }
}

export class TooManyRequests extends withStatus(429) {
  constructor(retryAfterSeconds: number) {
    super('too many requests', {}, { 'retry-after': String(retryAfterSeconds) });
  }
}

/** A retry may succeed; nothing was partially written. */
export class ServiceUnavailable extends withStatus(503) {
  constructor(message = 'the service is temporarily unavailable', retryAfterSeconds = 2) {
    super(message, {}, { 'retry-after': String(retryAfterSeconds) });
  }
}

/** The disk of DATA_DIR or of PostgreSQL is full. Unlike other 503s, this may last for days. */
export class NoRoom extends ServiceUnavailable {
  constructor() {
    super('the service has no disk space for uploads', 60);
  }
}

/** The account has no space left for the data. */
export class InsufficientStorage extends withStatus(507) {}

const faults = new WeakMap<FastifyRequest, unknown>();

/** Records an error that ends a response after its start, for the request's log line: the client can no longer receive it. */
export function noteFault(request: FastifyRequest, error: unknown): void {
  if (!(error instanceof ApiError)) faults.set(request, error);
}

export function faultOf(request: FastifyRequest): unknown {
  return faults.get(request);
}

/** Sends errors of guards and handlers as `{ error, ...fields }`; details that a client must not see are logged. */
@Catch()
@Injectable()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const answer = errorAnswer(error, request.id, this.log);
    if (reply.sent) return;
    void reply.status(answer.status).headers(answer.headers).type('application/json').send(answer.body);
  }
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

/** Returns what a client may see of an error, and logs the rest. */
export function errorAnswer(error: unknown, requestId: string, log: Log): ErrorAnswer {
  if (error instanceof ApiError) return flat(error);
  // The user passed the guards and was deleted before the write, which guards cannot foresee. The next request gets the same
  // response.
  if (isOfGoneUser(error)) return flat(new Unauthorized());
  if (isTransient(error)) {
    log.warn({ err: error, requestId }, 'transient fault');
    return flat(isDiskFull(error) ? new NoRoom() : new ServiceUnavailable());
  }
  const status = clientErrorStatus(error);
  if (status) return { status, headers: {}, body: { error: messageFor(status) } };
  log.error({ err: error, requestId }, 'request failed');
  return { status: 500, headers: {}, body: { error: 'Internal server error' } };
}

function flat(error: ApiError): ErrorAnswer {
  return { status: error.status, headers: error.headers, body: { error: error.message, ...error.fields } };
}

/** The status of a 4xx raised by the framework: unknown route, malformed URL and so on. */
function clientErrorStatus(error: unknown): number | undefined {
  const status =
    error instanceof HttpException ? error.getStatus() : (error as { statusCode?: unknown }).statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

/** Never the framework's own text: it repeats the URL, including a token in the query. */
export function messageFor(status: number): string {
  const messages: Record<number, string> = {
    404: 'not found',
    413: 'the request is too large',
    414: 'the URL is too long',
    415: 'unsupported media type',
    431: 'the request headers are too large',
  };
  return messages[status] ?? 'bad request';
}
