import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { OpenedContent } from './contents.js';

const PIECE_BYTES = 256 * 1024;

/** A client that takes an answer more slowly than this is cut off: others wait for the memory, and keys for being wiped. */
export const SEND_TIMEOUT_MS = 5 * 60_000;

/** Where the content goes. Quotes inside of a text are escaped, so no path can look like this. */
const GAP = '"content":""';

/** Answers `{ …, content, … }`. The text becomes JSON piece by piece, so a large one never is a string as a whole. */
export function sendNote(
  reply: FastifyReply,
  wire: object & { content: '' },
  { content, close }: OpenedContent,
): void {
  const body = Readable.from(json(JSON.stringify(wire), content), { highWaterMark: 1 });
  const timer = setTimeout(() => body.destroy(), SEND_TIMEOUT_MS);
  body.once('close', () => {
    clearTimeout(timer);
    close();
  });
  // Not awaited: the keys are wiped when this returns, and a client may take minutes.
  void reply.header('content-type', 'application/json; charset=utf-8').send(body);
}

function* json(wire: string, content: Buffer): Generator<string> {
  const at = wire.indexOf(GAP) + GAP.length - 1;
  yield wire.slice(0, at);
  for (let from = 0; from < content.length;) {
    const end = endOfCharacter(content, from + PIECE_BYTES);
    yield JSON.stringify(content.toString('utf8', from, end)).slice(1, -1);
    from = end;
  }
  yield wire.slice(at);
}

/** The first place from `at` on where no character is cut in two. */
function endOfCharacter(text: Buffer, at: number): number {
  let end = Math.min(at, text.length);
  while (end < text.length && ((text[end] ?? 0) & 0xc0) === 0x80) end++;
  return end;
}
