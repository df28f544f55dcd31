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
import { BadRequest, PayloadTooLarge, RequestTimeout, UnsupportedMediaType } from './api-errors.js';
import { loopTurn } from './in-flight.js';
import { parseJsonObject } from './json-response.js';
import type { Place } from './place.js';
import { type Cause, type WaitingClient, WaitingClients } from './waiting-clients.js';

const STRICT = Symbol('strict body');

/**
 * Marks a class of bodies whose unknown members are refused, by name, instead of dropped: for bodies in which a misspelt member
 * would grant more than intended, or remove a condition. Subclasses are strict too.
 */
export const StrictBody = (): ClassDecorator => (target) => Reflect.defineMetadata(STRICT, true, target);

export const isStrictBody = (bodyClass: object): boolean => Reflect.getMetadata(STRICT, bodyClass) === true;

/** Errors truncate longer names: a name may be as long as a body. */
const SHOWN_CHARACTERS = 64;

const unknownMember = (name: string): BadRequest =>
  new BadRequest(`unknown member ${JSON.stringify(name.slice(0, SHOWN_CHARACTERS))}`);

/** For bodies without a class. @throws BadRequest */
export function refuseUnknownMembers(given: Iterable<string>, known: readonly string[]): void {
  for (const name of given) if (!known.includes(name)) throw unknownMember(name);
}

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
 * class does not declare, so a request can only set what its route offers; a `StrictBody` with such keys is refused. Nest's own
 * pipe does the same with promises, at twice the cost. Danger: validators must be synchronous; asynchronous ones would be
 * skipped.
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

/** Not a WeakMap, which would retain its values, and so their requests, until a major garbage collection. */
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
 * Runs the checks in the order of the guards. `bodyChunks` calls this after the last byte; routes that write earlier call it.
 * @throws the error of the first check that fails
 */
export async function recheck(request: Rechecked): Promise<void> {
  for (const one of request[RECHECKS] ?? []) await one();
}

const JSON_LIMIT = 1024 * 1024;

/** The client closed the connection before the end of the body, so the response cannot be delivered. */
class ClientGone extends BadRequest {
  constructor() {
    super('the request body ended before it was complete');
  }
}

/** The client was below the minimum pace, or was the slowest or largest when room was needed. The connection is closed. */
class TooSlow extends RequestTimeout {
  constructor(cause: Cause | 'time') {
    const message =
      cause === 'room'
        ? 'too many request bodies are incomplete: yours was the slowest or the largest'
        : 'the request body took too long';
    super(message, {}, { connection: 'close' });
  }
}

export interface BodyOptions {
  /** Held while the service has work to do: from each chunk until it waits for the client again, and after the last byte. */
  readonly place?: Place;
  /** Bytes that the reader holds in memory, given the number of bytes received; by default, at most `HELD_OF_STREAM`. */
  readonly held?: (received: number) => number;
  readonly withinMs?: number;
}

/** Chunks of this size or more take turns of the event loop. Smaller ones cost no more than the turn itself. */
const BULK_BYTES = 16 * 1024;

/** Bytes held in memory for a streamed body: a chunk that has not been written yet. */
export const HELD_OF_STREAM = 64 * 1024;
const heldOfStream = (received: number): number => Math.min(received, HELD_OF_STREAM);
const all = (received: number): number => received;

/**
 * Yields the chunks of a request body as they arrive. Reads nothing before iteration starts, so guards refuse a request before
 * its body costs anything. Waiting for the client does not count as work: see `WaitingClients`, which may drop the client.
 * @throws PayloadTooLarge as soon as more than `limit` bytes are declared or received
 * @throws RequestTimeout when the client is dropped
 * @throws ClientGone when the connection ends first; the errors of the place; after the last byte, the errors of the repeated
 * guards
 */
export async function* bodyChunks(
  request: IncomingMessage,
  limit: number,
  options: BodyOptions = {},
): AsyncGenerator<Buffer> {
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new UnsupportedMediaType('content encodings are not accepted');
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);

  const body = new IncomingBody(request, options);
  try {
    for (let chunk = await body.next(); chunk; chunk = await body.next()) {
      if (body.received > limit) throw tooLarge(limit);
      const isAllowed = options.place?.work(chunk.length);
      if (isAllowed) await isAllowed;
      yield chunk;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') throw new ClientGone();
    throw error;
  } finally {
    body.leave();
  }
  if (!request.complete) throw new ClientGone();
  await recheck(request);
}

/** Reads a body, and waits for its client. */
class IncomingBody {
  received = 0;
  private readonly chunks: AsyncIterator<Buffer>;
  private readonly timer: NodeJS.Timeout | undefined;
  /** Undefined until the service first waits for the client. */
  private client: WaitingClient | undefined;
  private isResting = false;
  private reason: TooSlow | undefined;
  /** Undefined at first: an empty function for each body would retain requests until a major garbage collection. */
  private wake: (() => void) | undefined;

  constructor(
    private readonly request: IncomingMessage,
    private readonly options: BodyOptions,
  ) {
    // destroyOnReturn: ending early must keep the socket open for the response.
    this.chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
    const { withinMs } = options;
    if (withinMs !== undefined && !request.complete)
      this.timer = setTimeout(() => this.drop(new TooSlow('time')), withinMs);
  }

  /** Resolves with the next chunk, or undefined after the last byte. @throws TooSlow when the client was dropped */
  async next(): Promise<Buffer | undefined> {
    this.refuseDropped();
    if (this.request.readableLength === 0 && !this.request.complete) {
      this.wait();
      this.refuseDropped();
    }
    const next = this.isResting ? await this.unlessDropped() : await this.chunks.next();
    this.refuseDropped();
    if (next.done) return this.end();
    this.received += next.value.length;
    this.client?.count(next.value.length);
    const turn = next.value.length < BULK_BYTES ? undefined : loopTurn();
    if (turn) {
      this.options.place?.rest();
      await turn; // the client still counts as silent
      this.refuseDropped();
    }
    this.isResting = false;
    this.client?.goOn();
    this.holdReceived();
    this.refuseDropped();
    return next.value;
  }

  /** Afterwards, other code may discard the rest of the body. */
  leave(): void {
    clearTimeout(this.timer);
    this.client?.leave();
    void this.chunks.return?.().catch(() => undefined); // not awaited: it may wait for the next bytes
  }

  private wait(): void {
    this.isResting = true;
    this.options.place?.rest();
    this.client ??= WaitingClients.of(this.request)?.enter(true, (cause) => this.drop(new TooSlow(cause)));
    this.client?.wait();
    this.holdReceived(); // including the bytes received before the first silence
  }

  /** May drop this client or other clients. */
  private holdReceived(): void {
    this.client?.hold((this.options.held ?? heldOfStream)(this.received));
  }

  /** Takes the place again if it was given back before the end of the body was known. */
  private async end(): Promise<undefined> {
    this.client?.goOn();
    if (this.isResting) await this.options.place?.work(0);
  }

  private refuseDropped(): void {
    if (this.reason) throw this.reason;
  }

  private drop(reason: TooSlow): void {
    this.reason = reason;
    this.request.removeAllListeners('readable'); // with these listeners, the rest of the body could not be read and discarded
    this.wake?.();
  }

  /** Not Promise.race: a promise that stays open would retain every chunk. */
  private unlessDropped(): Promise<IteratorResult<Buffer, undefined>> {
    return new Promise((resolve, reject) => {
      this.wake = () => resolve({ value: undefined, done: true });
      this.chunks.next().then(resolve, reject);
    });
  }
}

/** The declared length of a request body; undefined if there is none. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/**
 * Reads a whole body into memory; `limit` in bytes. Throws the same errors as `bodyChunks`.
 * @param withinMs the client is dropped after this time
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  options: Pick<BodyOptions, 'place' | 'withinMs'> = {},
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of bodyChunks(request, limit, { ...options, held: all })) parts.push(chunk);
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
