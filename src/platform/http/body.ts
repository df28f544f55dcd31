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

/** Makes the decorator of a handler's parameter. @param read gives its value, or throws what the caller is answered */
export const fromRequest = (read: (request: FastifyRequest) => unknown): (() => ParameterDecorator) =>
  createParamDecorator((_: unknown, context: ExecutionContext) => read(context.switchToHttp().getRequest()));

/** `forbidUnknownValues` is for values without a class: a class that declares nothing takes any body. */
const RULES: ValidatorOptions = { whitelist: true, stopAtFirstError: true, forbidUnknownValues: false };

/**
 * Validates bodies against their classes (`JsonBody`); other input has decorators that refuse it themselves. Keys that a
 * class does not declare are dropped, so a request can set nothing but what its route offers. Nest's own pipe does the
 * same with promises, at twice the price. Validators must be synchronous: others would be passed over.
 */
const validation: PipeTransform<object, object> = {
  transform(body, { metatype }: ArgumentMetadata) {
    const entity = plainToInstance(metatype as ClassConstructor<object>, body);
    const errors = validateSync(entity, RULES);
    if (errors.length > 0) throw new BadRequest(firstMessage(errors));
    return entity;
  },
};

function firstMessage(errors: ValidationError[]): string {
  const [error] = errors;
  if (!error) return 'the request is not valid';
  const [message] = Object.values(error.constraints ?? {});
  return message ?? firstMessage(error.children ?? []);
}

/** Throws what the caller is answered when something holds no longer. */
type Recheck = () => void | Promise<void>;

/** Not a WeakMap: until all memory is collected, its values are kept, and with these everything of their requests. */
const RECHECKS = Symbol('rechecks');

type Rechecked = IncomingMessage & { [RECHECKS]?: Recheck[] };

/**
 * Registers a check that is made again when the last byte of the body has come: an upload can take minutes, and what
 * was revoked, ended or switched off meanwhile must not be written.
 */
export function afterBody(request: Rechecked, recheck: Recheck): void {
  (request[RECHECKS] ??= []).push(recheck);
}

/** In the order of the guards. @throws what the first of them throws */
async function recheck(request: Rechecked): Promise<void> {
  for (const one of request[RECHECKS] ?? []) await one();
}

const JSON_LIMIT = 1024 * 1024;
const JSON_TIMEOUT_MS = 30_000;

/** The client closed the connection in mid-body: nobody is left to answer. */
class ClientGone extends BadRequest {
  constructor() {
    super('the request body ended before it was complete');
  }
}

/**
 * The chunks of a request body, as they arrive. Nothing is read before somebody iterates, so guards refuse a
 * request before its body costs anything.
 * @param onChunk is told how many bytes each chunk has, before anybody else sees it. What it returns is waited for, and the next
 * chunk is not read meanwhile; what it throws ends the body
 * @throws PayloadTooLarge as soon as more than `limit` bytes are declared or have come
 * @throws ClientGone when the connection ends first, and after the last byte what the guards find when they are asked again
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
    // destroyOnReturn: an early end of the loop must leave the socket open for the answer
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

/** How long a request says that its body is; undefined when it does not. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/** A whole body in memory; `limit` in bytes. Errors as in `bodyChunks`, and RequestTimeout after 30 s unless told. */
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

/** Of a parameter's metadata: by this factory it is known for a JSON body. */
export const jsonBodyFactory = (limit: number, context: ExecutionContext): Promise<Record<string, unknown>> =>
  readBody(context.switchToHttp().getRequest<FastifyRequest>().raw, limit).then(parseJsonObject);

const readJsonBody = createParamDecorator(jsonBodyFactory);

/**
 * The validated JSON body of a route, read after the guards have let the request in.
 * @param limit in bytes; 1 MiB unless told
 */
export function JsonBody(limit = JSON_LIMIT): ParameterDecorator {
  return readJsonBody(limit, validation as PipeTransform);
}
