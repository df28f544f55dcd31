import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import type { ServerResponse } from 'node:http';
import { noteFault, ServiceUnavailable } from './api-errors.js';
import { loopTurn } from './loop-turns.js';
import type { Place } from './place.js';
import { WaitingClients } from './waiting-clients.js';

/** For smaller texts, compression takes longer than sending. */
const WORTH_BYTES = 8 * 1024;

const compress = promisify(brotliCompress);

/** Lowest Brotli quality: a quarter of gzip's time, and JSON with hashes does not get smaller at higher ones. */
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Sends a JSON text, compressed if it is large and the client accepts Brotli. */
export async function sendJsonText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<void> {
  void reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding');
  const isWorthIt = text.length >= WORTH_BYTES && takesBrotli(request.headers['accept-encoding']);
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

/** The text around the items, and the format of each item. */
interface Form<Item> {
  readonly before: string;
  readonly after: string;
  readonly wire: (item: Item) => unknown;
}

/**
 * Sends a JSON list of any length: holds one page at a time, and reads the next one when the client has received it. Reads the
 * first page before anything is sent, so that its failure can still be answered with an error; a later failure closes the
 * connection, because a partial list must never look complete. Resolves when the response has started: a client may take
 * minutes.
 */
export async function sendJsonList<Item>(
  request: FastifyRequest,
  reply: FastifyReply,
  pages: Pages<Item>,
  form: Form<Item>,
): Promise<void> {
  await sendChunks(request, reply, 'application/json; charset=utf-8', json(pages, form));
}

/**
 * Sends a body of any length as it is read, in the same way: the first chunk before anything is sent, the next one when the client
 * has received it.
 */
export async function sendChunks(
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  chunks: AsyncGenerator<string | Uint8Array, void>,
): Promise<void> {
  const first = await chunks.next();
  const isHead = request.method === 'HEAD';
  if (isHead) await chunks.return(); // Fastify would read all chunks and send none
  const rest = isHead ? [] : goOn(request, first, chunks);
  // Reads at most one chunk ahead. A client that disconnects destroys the stream, which ends the generators.
  const body = Readable.from(rest, { highWaterMark: 1 });
  // Ending a generator that has not begun skips its `finally`, and what the first chunk holds open would stay so.
  body.once('close', () => void chunks.return().catch(() => undefined));
  void reply.header('content-type', type).send(body);
}

/**
 * The same chunks, each read when the client has received the one before. Meanwhile nothing is done for a client that does not
 * read: the place is given back. A response that has begun is finished: it waits until there is a place again.
 * @param mostHeld the bytes that may be in memory for a client that does not read
 * @param ahead what has been read for it, and is in no chunk yet
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

/** Bytes that are in memory of what is sent, beside its chunks. */
export class ReadAhead {
  onChange: (() => void) | undefined;

  constructor(private held = 0) {}

  get bytes(): number {
    return this.held;
  }

  add(bytes: number): void {
    this.held += bytes;
    this.onChange?.();
  }
}

/** The chunk that is being sent, the one that waits for that, and the one that is read meanwhile. */
const CHUNKS_AT_ONCE = 3;

const AGAIN_MS = 500;

/** Takes the place as soon as there is one; a client that leaves ends the wait. */
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
  { before, after, wire }: Form<Item>,
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
