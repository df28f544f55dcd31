import { Readable } from 'node:stream';

/** Three bytes are four characters, so only a piece of a multiple of three can be followed by another. */
const GROUP = 3;

export function base64Length(bytes: number): number {
  return Math.ceil(bytes / GROUP) * 4;
}

/** Bytes as base64, piece by piece: an error of theirs is one of the stream's, and they end with it. */
export function base64Stream(bytes: Readable): Readable {
  const text = Readable.from(encode(bytes as AsyncIterable<Buffer>), { objectMode: false });
  // A generator that has not begun, since nobody has read yet, does not end what it would read.
  return text.once('close', () => bytes.destroy());
}

async function* encode(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const all = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const whole = all.length - (all.length % GROUP);
    rest = all.subarray(whole);
    if (whole > 0) yield all.toString('base64', 0, whole);
  }
  if (rest.length > 0) yield rest.toString('base64');
}
