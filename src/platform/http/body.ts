import {
  type ArgumentMetadata,
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError, type ValidatorOptions } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { inTime } from '../clock/index.js';
import { BadRequest, PayloadTooLarge, RequestTimeout, UnsupportedMediaType } from './api-errors.js';
import { parseJsonObject } from './json.js';
import { isStrictBody, unknownMember } from './strict-body.js';

/**
 * Creates a decorator for a handler's parameter.
 * @param read returns its value, or throws the error for the client
 */
export const fromRequest = (read: (request: FastifyRequest) => unknown): (() => ParameterDecorator) =>
  createParamDecorator((_: unknown, context: ExecutionContext) => read(context.switchToHttp().getRequest()));

/** `forbidUnknownValues` is for values without a class: a class without declared properties accepts any body. */
const RULES: ValidatorOptions = { whitelist: true, stopAtFirstError: true, forbidUnknownValues: false };
const STRICT_RULES: ValidatorOptions = { ...RULES, forbidNonWhitelisted: true };

/**
 * Validates bodies against their classes (`JsonBody`); decorators for other input validate it themselves. Drops keys that the
 * class does not declare, so a request can only set what its route offers; a `StrictBody` is refused for them. Nest's own pipe
 * does the same with promises, at twice the cost. Danger: validators must be synchronous; asynchronous ones would be skipped.
 */
const validation: PipeTransform<object, object> = {
  transform(body, { metatype }: ArgumentMetadata) {
    const bodyClass = metatype as ClassConstructor<object>;
    const entity = plainToInstance(bodyClass, body);
    const errors = validateSync(entity, isStrictBody(bodyClass) ? STRICT_RULES : RULES);
    if (errors.length > 0) throw firstFault(errors);
    return entity;
  },
};

function firstFault(errors: ValidationError[]): BadRequest {
  const [error] = errors;
  if (!error) return new BadRequest('the request is invalid');
  const { constraints = {}, children = [], property } = error;
  if ('whitelistValidation' in constraints) return unknownMember(property);
  const [message] = Object.values(constraints);
  return message === undefined ? firstFault(children) : new BadRequest(message);
}

/** Throws the error for the client if a condition no longer holds. */
type Recheck = () => void | Promise<void>;

/**
 * Not a WeakMap: it keeps its values until a major garbage collection, and with them everything that belongs to their
 * requests.
 */
const RECHECKS = Symbol('rechecks');

type Rechecked = IncomingMessage & { [RECHECKS]?: Recheck[] };

/**
 * Registers a check that runs again after the last byte of the body: an upload can take minutes, and must not be written if
 * its access was revoked, ended or switched off in the meantime.
 */
export function afterBody(request: Rechecked, recheck: Recheck): void {
  (request[RECHECKS] ??= []).push(recheck);
}

/**
 * Runs the checks in the order of the guards. `bodyChunks` does so after the last byte; a route that writes before that does so
 * itself.
 * @throws the error of the first check that fails
 */
export async function recheck(request: Rechecked): Promise<void> {
  for (const one of request[RECHECKS] ?? []) await one();
}

const JSON_LIMIT = 1024 * 1024;
const JSON_TIMEOUT_MS = 30_000;

/** The client closed the connection before the end of the body: nobody receives the response. */
class ClientGone extends BadRequest {
  constructor() {
    super('the request body ended before it was complete');
  }
}

/**
 * Yields the chunks of a request body as they arrive. Reads nothing before iteration starts, so guards refuse a request before
 * its body costs anything.
 * @param onChunk called with the size of each chunk before the chunk is yielded. The next chunk is not read until its promise
 * resolves; if it throws, the body ends with that error
 * @throws PayloadTooLarge as soon as more than `limit` bytes are declared or received
 * @throws ClientGone when the connection ends first; after the last byte, the errors of the repeated guards
 */
export async function* bodyChunks(
  request: IncomingMessage,
  limit: number,
  onChunk?: (bytes: number) => Promise<void> | undefined,
): AsyncGenerator<Buffer> {
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new UnsupportedMediaType('content encodings are not accepted');
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);

  let received = 0;
  try {
    // destroyOnReturn: leaving the loop early must keep the socket open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received += chunk.length;
      if (received > limit) throw tooLarge(limit);
      const isAllowed = onChunk?.(chunk.length);
      if (isAllowed) await isAllowed;
      yield chunk;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') throw new ClientGone();
    throw error;
  }
  if (!request.complete) throw new ClientGone();
  await recheck(request);
}

/**
 * The body of a request that may be answered before its end: ends with the reason of `signal`, also while no bytes arrive.
 * Without it, reading could wait forever, because an answered request does not report that its connection has ended.
 */
export async function* bodyUntil(
  signal: AbortSignal,
  request: IncomingMessage,
  limit: number,
): AsyncGenerator<Buffer> {
  const chunks = bodyChunks(request, limit);
  let wake = (): void => undefined;
  const end = (): void => {
    request.removeAllListeners('readable'); // with them, nobody could read and discard the rest of the body
    wake();
  };
  signal.addEventListener('abort', end, { once: true });
  // Not Promise.race: a promise that stays open would retain every chunk.
  const next = (): Promise<IteratorResult<Buffer> | undefined> =>
    new Promise((resolve, reject) => {
      wake = () => resolve(undefined);
      chunks.next().then(resolve, reject);
    });
  try {
    for (;;) {
      const chunk = await next();
      signal.throwIfAborted();
      if (!chunk || chunk.done) return;
      yield chunk.value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    void chunks.return(undefined).catch(() => undefined); // not awaited: it may wait for the next bytes
  }
}

/** The declared length of a request body; undefined if there is none. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/**
 * Reads a whole body into memory; `limit` in bytes. Throws the same errors as `bodyChunks`, and RequestTimeout after 30 s by
 * default.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  withinMs = JSON_TIMEOUT_MS,
): Promise<Buffer> {
  const tooLate = (): RequestTimeout => new RequestTimeout('the request body took too long');
  return inTime(withinMs, collect(bodyChunks(request, limit)), tooLate);
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

function tooLarge(limit: number): PayloadTooLarge {
  return new PayloadTooLarge(`the request body is larger than ${limit} bytes`);
}

/** Identifies a JSON body in the metadata of a handler's parameter. */
export const jsonBodyFactory = (limit: number, context: ExecutionContext): Promise<Record<string, unknown>> =>
  readBody(context.switchToHttp().getRequest<FastifyRequest>().raw, limit).then(parseJsonObject);

const readJsonBody = createParamDecorator(jsonBodyFactory);

/**
 * The validated JSON body of a route, read after the guards have accepted the request.
 * @param limit in bytes; 1 MiB by default
 */
export function JsonBody(limit = JSON_LIMIT): ParameterDecorator {
  return readJsonBody(limit, validation as PipeTransform);
}
