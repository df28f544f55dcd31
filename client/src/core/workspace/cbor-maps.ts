import { decodeFirst } from 'cborg';
import { InvalidAnswer } from '../http/index.js';

/** One item of a CBOR sequence. A Map instead of an object, because the service chooses the keys. */
export type CborMap = ReadonlyMap<unknown, unknown>;

/** Decoding of an incomplete item is retried after this many more bytes. */
const READ_BYTES = 64 * 1024;

const RULES = { allowIndefinite: false, allowUndefined: false, rejectDuplicateMapKeys: true, useMaps: true };

/**
 * Yields the maps of a CBOR sequence as they arrive. @param most bytes of one map
 * @throws InvalidAnswer for any other content; an incomplete last item is ignored
 */
export async function* cborMaps(
  chunks: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<CborMap, void> {
  let held = new Uint8Array();
  let arrived: Uint8Array[] = [];
  let bytes = 0;
  const join = (): void => {
    const whole = new Uint8Array(held.length + bytes);
    whole.set(held);
    arrived.reduce((at, part) => {
      whole.set(part, at);
      return at + part.length;
    }, held.length);
    [held, arrived, bytes] = [whole, [], 0];
  };
  for await (const chunk of chunks) {
    arrived.push(chunk);
    bytes += chunk.length;
    if (bytes < READ_BYTES) continue;
    join();
    held = yield* whole(held);
    if (held.length > most) throw new InvalidAnswer('an item of the answer is too large');
  }
  join();
  yield* whole(held);
}

/** Yields the complete items. @returns the bytes of an incomplete one */
function* whole(bytes: Uint8Array<ArrayBuffer>): Generator<CborMap, Uint8Array<ArrayBuffer>> {
  let rest = bytes;
  while (rest.length > 0) {
    let next: [unknown, Uint8Array];
    try {
      next = decodeFirst(rest, RULES) as [unknown, Uint8Array];
    } catch (error) {
      // The library has no error class for it.
      if (error instanceof Error && error.message.endsWith('not enough data for type')) return rest;
      throw new InvalidAnswer('the answer is not a CBOR sequence', { cause: error });
    }
    if (!(next[0] instanceof Map)) throw new InvalidAnswer('an item of the answer is not a map');
    rest = next[1] as Uint8Array<ArrayBuffer>;
    yield next[0];
  }
  return rest;
}
