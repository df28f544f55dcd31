import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDiskFull, isOfGoneUser, isTransient } from '../database/index.js';
import { Log } from '../log/index.js';
import { ApiError, NoRoom, ServiceUnavailable, Unauthorized } from './api-errors.js';

/** Sends errors of guards and handlers as `{ error, ...fields }`; what a client must not see goes to the log. */
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
