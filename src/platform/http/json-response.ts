import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { noteFault } from './api-errors.js';

/** Below, compressing takes longer than sending. */
const WORTH_BYTES = 8 * 1024;

const compress = promisify(brotliCompress);

/** Brotli at its quickest: it takes a quarter of gzip's time, and JSON of hashes gets no smaller for more. */
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Answers with a JSON text, compressed when it is large and the client takes brotli. */
export async function sendJsonText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<void> {
  void reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding');
  const isWorthIt = text.length >= WORTH_BYTES && takesBrotli(request.headers['accept-encoding']);
  if (!isWorthIt) {
    await reply.send(Buffer.from(text)); // a text Node.js would join with the head, measure and copy once more
    return;
  }
  await reply.header('content-encoding', 'br').send(await compress(text, QUICKLY));
}

/** Only one that names it: `*` may be anything. */
function takesBrotli(accepted: string | undefined = ''): boolean {
  return accepted.split(',').some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((part) => part.trim().toLowerCase());
    return name === 'br' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

type Pages<Item> = AsyncGenerator<Item[], void>;

/** What stands around the items, and each of them. */
interface Form<Item> {
  readonly before: string;
  readonly after: string;
  readonly wire: (item: Item) => unknown;
}

/**
 * Answers with a JSON list of any length: holds one page at a time, and asks for the next when the client has taken it.
 * The first page is read before anything is sent, so that an error can still be answered as one; a later one ends the
 * connection, for a part must never look like all of them. Resolves when the answer has begun: a client may take minutes.
 */
export async function sendJsonList<Item>(
  request: FastifyRequest,
  reply: FastifyReply,
  pages: Pages<Item>,
  form: Form<Item>,
): Promise<void> {
  const chunks = json(pages, form);
  const first = await chunks.next();
  const isHead = request.method === 'HEAD';
  if (isHead) await chunks.return(); // Fastify would read all of them, and send none
  const rest = isHead ? [] : goOn(request, first, chunks);
  // One chunk ahead at most. A client that goes away destroys the stream, which ends the generators.
  const body = Readable.from(rest, { highWaterMark: 1 });
  void reply.header('content-type', 'application/json; charset=utf-8').send(body);
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

/** From a chunk on that was read already. It is let go once the next one has been read. */
async function* goOn(
  request: FastifyRequest,
  chunk: IteratorResult<string, void>,
  chunks: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  try {
    for (; !chunk.done; chunk = await chunks.next()) yield chunk.value;
  } catch (error) {
    noteFault(request, error);
    throw error;
  } finally {
    await chunks.return();
  }
}
