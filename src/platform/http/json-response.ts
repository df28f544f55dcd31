import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { BadRequest, noteFault, ServiceUnavailable } from './api-errors.js';
import { loopTurn } from './in-flight.js';
import { type Place, utf8Of } from './place.js';
import { WaitingClients } from './waiting-clients.js';

/** For smaller texts, compression takes longer than sending. */
const WORTH_BYTES = 8 * 1024;

const compress = promisify(brotliCompress);

/** Lowest Brotli quality: a quarter of gzip's time, and JSON with hashes does not get smaller at higher ones. */
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Sends a JSON text, compressed if it is large and the client accepts Brotli. */
export async function sendJsonText(reply: FastifyReply, text: string): Promise<void> {
  void reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding');
  const isWorthIt = text.length >= WORTH_BYTES && takesBrotli(reply.request.headers['accept-encoding']);
  if (!isWorthIt) {
    await reply.send(Buffer.from(text)); // Node.js would concatenate a string with the headers, measure it and copy it again
    return;
  }
  await reply.header('content-encoding', 'br').send(await compress(text, QUICKLY));
}

/** Only if named explicitly: `*` may mean any encoding. */
function takesBrotli(accepted: string | undefined = ''): boolean {
  return accepted.split(',').some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((part) => part.trim().toLowerCase());
    return name === 'br' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

type Pages<Item> = AsyncGenerator<Item[], void>;

/** The text around the items, and the format of each item, if it differs from the item. */
interface Form<Item> {
  readonly before: string;
  readonly after: string;
  readonly wire?: (item: Item) => unknown;
}

/**
 * Sends a JSON list of any length: holds one page at a time, and reads the next one when the client has received it. Reads the
 * first page before anything is sent, so that its failure can still be answered with an error; a later failure closes the
 * connection, because a partial list must never look complete. Resolves when the response has started: a client may take
 * minutes.
 */
export async function sendJsonList<Item>(
  reply: FastifyReply,
  pages: Pages<Item>,
  form: Form<Item>,
): Promise<void> {
  await sendChunks(reply, 'application/json; charset=utf-8', json(pages, form));
}

/**
 * Like `sendJsonList`, for any body: reads the first chunk before anything is sent, and each further one when the client has
 * received the previous one.
 */
export async function sendChunks(
  reply: FastifyReply,
  type: string,
  chunks: AsyncGenerator<string | Uint8Array, void>,
): Promise<void> {
  const { request } = reply;
  const first = await chunks.next();
  const isHead = request.method === 'HEAD';
  if (isHead) await chunks.return(); // Fastify would read all chunks and send none
  const rest = isHead ? [] : goOn(request, first, chunks);
  // Reads at most one chunk ahead. A client that disconnects destroys the stream, which ends the generators.
  const body = Readable.from(rest, { highWaterMark: 1 });
  // Ending a generator that has not begun skips its `finally`, and would leak what the first chunk holds open.
  body.once('close', () => void chunks.return().catch(() => undefined));
  void reply.header('content-type', type).send(body);
}

/**
 * Yields the same chunks, each read when the client has received the previous one. Gives the place back while the client does not
 * read. A response that has begun is always finished: it waits until a place is free again.
 * @param mostHeld maximum number of bytes in memory for a client that does not read
 * @param ahead bytes that have been read for the client and are in no chunk yet
 * @throws the errors of the place before the first chunk
 */
export async function* whileRead<Chunk extends Uint8Array>(
  response: ServerResponse,
  chunks: AsyncGenerator<Chunk, void>,
  {
    place,
    mostHeld,
    ahead = new ReadAhead(),
  }: { readonly place: Place; readonly mostHeld: number; readonly ahead?: ReadAhead },
): AsyncGenerator<Chunk, void> {
  const client = WaitingClients.of(response.req)?.enter(false, () => response.destroy());
  let sent = 0;
  ahead.onChange = () => client?.hold(Math.min(mostHeld, CHUNKS_AT_ONCE * sent + ahead.bytes));
  try {
    for (let hasBegun = false; ; hasBegun = true) {
      await loopTurn();
      await (hasBegun ? workAgain(place, response) : place.work(0));
      const chunk = await chunks.next();
      place.rest();
      if (chunk.done) return;
      client?.wait();
      sent = chunk.value.length;
      ahead.onChange();
      yield chunk.value;
      client?.count(sent);
      client?.goOn();
      sent = 0;
      ahead.onChange();
    }
  } finally {
    place.rest();
    client?.leave();
    await chunks.return();
  }
}

/** Counts bytes that are held in memory for a response, apart from its chunks. */
export class ReadAhead {
  onChange: (() => void) | undefined;

  constructor(public bytes = 0) {}

  add(bytes: number): void {
    this.bytes += bytes;
    this.onChange?.();
  }
}

/** The chunk that is being sent, the one queued behind it, and the one that is being read. */
const CHUNKS_AT_ONCE = 3;

const AGAIN_MS = 500;

/** Takes the place as soon as one is free; stops waiting when the client disconnects. */
async function workAgain(place: Place, response: ServerResponse): Promise<void> {
  for (;;) {
    try {
      await place.work(0);
      return;
    } catch (error) {
      if (response.destroyed || !(error instanceof ServiceUnavailable)) throw error;
    }
    await delay(AGAIN_MS);
  }
}

async function* json<Item>(
  pages: Pages<Item>,
  { before, after, wire = (item) => item }: Form<Item>,
): AsyncGenerator<string, void> {
  let separator = before;
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield separator + page.map((item) => JSON.stringify(wire(item))).join(',');
    separator = ',';
  }
  yield separator === before ? before + after : after;
}

/** Continues with a chunk that was read already, and releases it once the next one has been read. */
async function* goOn(
  request: FastifyRequest,
  chunk: IteratorResult<string | Uint8Array, void>,
  chunks: AsyncGenerator<string | Uint8Array, void>,
): AsyncGenerator<string | Uint8Array, void> {
  try {
    for (; !chunk.done; chunk = await chunks.next()) yield chunk.value;
  } catch (error) {
    noteFault(request, error);
    throw error;
  } finally {
    await chunks.return();
  }
}

const MAX_DEPTH = 32;
/** A full push has 5,000 values. Validation visits each value, so a body with millions would block the service. */
const MAX_VALUES = 20_000;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
/** JSON can escape a lone surrogate; UTF-8, and therefore a column, cannot hold it, and validators throw on it. */
const HALF_SURROGATE_PAIR = /\p{Cs}/u;

/**
 * Parses the JSON object in a request body; an empty body is an empty object, so that validation names what is missing.
 * @throws BadRequest on invalid UTF-8, invalid JSON, a top-level value that is not an object, more than 20,000 values, nesting
 * deeper than 32, keys that access prototypes, lone surrogates
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {};
  const text = utf8Of(body);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadRequest('the request body is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequest('the request body must be a JSON object');
  }
  refuseHostileShapes(value);
  return value as Record<string, unknown>;
}

/** Iterative on purpose: recursion would overflow the stack on hostile nesting. Counts values before inspecting them. */
function refuseHostileShapes(root: object): void {
  const pending: { value: object; depth: number }[] = [{ value: root, depth: 1 }];
  let values = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next.depth > MAX_DEPTH) throw new BadRequest('the request body is nested too deeply');
    values += Array.isArray(next.value) ? next.value.length : Object.keys(next.value).length;
    if (values > MAX_VALUES) throw new BadRequest('the request body has too many values');
    for (const [key, child] of Object.entries(next.value)) {
      refuseKeyAndText(key, child);
      if (typeof child === 'object' && child !== null)
        pending.push({ value: child as object, depth: next.depth + 1 });
    }
  }
}

function refuseKeyAndText(key: string, value: unknown): void {
  if (FORBIDDEN_KEYS.has(key)) throw new BadRequest('the request body has a forbidden key');
  if (typeof value === 'string' && HALF_SURROGATE_PAIR.test(value))
    throw new BadRequest('the request body contains invalid Unicode');
}

/** Headers of every response unless its handler overrides them: API responses are never a page, framed or cached. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const HSTS = { 'strict-transport-security': 'max-age=31536000' };

/** @param isHttps whether the public URL is https, so that HSTS can be sent */
export function securityHeaders(isHttps: boolean): Readonly<Record<string, string>> {
  return isHttps ? { ...HEADERS, ...HSTS } : HEADERS;
}

/**
 * For `enableCors`: allows only the listed origins and sends no headers to any other; disabled when the list is empty. Danger:
 * with credentials, a fault in a page of a listed origin would expose the account of the user who is signed in here.
 */
export function corsOptions(origins: string[]): Parameters<FastifyAdapter['enableCors']>[0] {
  const isListed = (origin: string | undefined): boolean => origin !== undefined && origins.includes(origin);
  return {
    origin: origins.length > 0 ? (origin, letIn) => letIn(null, isListed(origin)) : false,
    // Not onRequest: it would answer preflights before they have a request id and the headers above.
    hook: 'preParsing',
    strictPreflight: false, // the plugin's own refusal is plain text
    credentials: false,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'idempotency-key',
      'if-match',
      'if-none-match',
      'if-range',
      'range',
      'x-content-hash',
      'x-device-id',
      'x-key-session',
      'x-workspace-id',
    ],
    exposedHeaders: [
      'accept-ranges',
      'content-range',
      'etag',
      'retry-after',
      'x-asset-size-bytes',
      'x-request-id',
    ],
    maxAge: 600,
  };
}
