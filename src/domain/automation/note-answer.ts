import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { OpenedContent } from './contents.js';

const PIECE_BYTES = 256 * 1024;

/**
 * A client that takes longer than this to read a response is disconnected: the keys can only be wiped afterwards. As long as a body
 * may take.
 */
export const SEND_TIMEOUT_MS = 15 * 60_000;

/** The placeholder for the content. Quotes inside strings are escaped, so no path can contain it. */
const GAP = '"content":""';

/**
 * Sends `{ …, content, … }`. The text is converted to JSON chunk by chunk, so a large one is never held as a single
 * string.
 */
export function sendNote(
  reply: FastifyReply,
  wire: object & { content: '' },
  { pieces, close }: OpenedContent,
): void {
  const body = Readable.from(json(JSON.stringify(wire), pieces), { highWaterMark: 1 });
  const timer = setTimeout(() => body.destroy(), SEND_TIMEOUT_MS);
  body.once('close', () => {
    clearTimeout(timer);
    close();
  });
  // Not awaited: the keys are wiped when this returns, and a client may take minutes.
  void reply.header('content-type', 'application/json; charset=utf-8').send(body);
}

async function* json(wire: string, pieces: OpenedContent['pieces']): AsyncGenerator<string, void> {
  const at = wire.indexOf(GAP) + GAP.length - 1;
  yield wire.slice(0, at);
  const decoder = new StringDecoder('utf8'); // a character may be split across chunks
  for await (const piece of pieces)
    for (let from = 0; from < piece.length; from += PIECE_BYTES) {
      const text = decoder.write(piece.subarray(from, from + PIECE_BYTES));
      if (text !== '') yield JSON.stringify(text).slice(1, -1);
    }
  yield wire.slice(at);
}
