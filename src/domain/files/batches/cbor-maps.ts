import { Tokenizer, Type } from 'cborg';
import { BadRequest, PayloadTooLarge } from '../../../platform/http/index.js';

/** One item of a CBOR sequence: text keys, and values without structure. */
export type CborMap = ReadonlyMap<string, unknown>;

/** Limits of an item, in bytes: its content, and everything else in it. */
export const MAX_CONTENT_BYTES = 1024 * 1024;
const MAX_OTHER_BYTES = 16 * 1024;
const MAX_ITEM_BYTES = MAX_CONTENT_BYTES + MAX_OTHER_BYTES;

const MAX_KEYS = 16;

/** Parsing starts when this many more bytes have arrived, so that a slow client costs no more than a fast one. */
const READ_BYTES = 64 * 1024;

const RULES = { allowIndefinite: false, allowUndefined: false };

/**
 * Parses a CBOR sequence (RFC 8742) of maps as its bytes arrive; holds at most one item and one read.
 * @throws BadRequest when it is not such a sequence, or ends within an item; PayloadTooLarge when an item is too large; and
 * the errors of its source
 */
export async function* cborMaps(chunks: AsyncIterable<Buffer>): AsyncGenerator<CborMap, void> {
  let held = Buffer.allocUnsafe(READ_BYTES);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let copied = 0; copied < chunk.length;) {
      const bytes = chunk.copy(held, filled, copied);
      copied += bytes;
      filled += bytes;
      if (filled < held.length) break;
      const { rest, missing } = yield* wholeMaps(held);
      held = Buffer.allocUnsafe(rest.length + missing + READ_BYTES);
      filled = rest.copy(held);
    }
  }
  const { rest } = yield* wholeMaps(held.subarray(0, filled));
  if (rest.length > 0) throw new BadRequest('the body ends within an item of the CBOR sequence');
}

/** The bytes that an item uploads, counted whether or not the rest of it is valid. */
export function contentIn(map: CborMap): Buffer {
  const content = map.get('content');
  if (!(content instanceof Uint8Array)) return Buffer.alloc(0);
  return Buffer.from(content.buffer, content.byteOffset, content.length);
}

/** The start of an item that is not complete yet, and how many bytes of it are known to be missing. */
interface Incomplete {
  readonly rest: Buffer;
  readonly missing: number;
}

/** @throws BadRequest, PayloadTooLarge */
function* wholeMaps(bytes: Buffer): Generator<CborMap, Incomplete> {
  let rest = bytes;
  let next = mapAtStart(rest);
  for (; 'map' in next; next = mapAtStart(rest)) {
    const { map, length } = next;
    // The content is a view of the received bytes, so it keeps its whole item in memory.
    if (length - contentIn(map).length > MAX_OTHER_BYTES)
      throw new PayloadTooLarge(
        `an item of the batch has more than ${MAX_OTHER_BYTES} bytes besides its content`,
      );
    rest = rest.subarray(length);
    yield map;
  }
  if (rest.length + next.missing > MAX_ITEM_BYTES)
    throw new PayloadTooLarge(`an item of the batch has more than ${MAX_CONTENT_BYTES} bytes`);
  return { rest, missing: next.missing };
}

/** The map at the start of `bytes` with its encoded length, or how much is missing of it. @throws BadRequest */
function mapAtStart(
  bytes: Buffer,
): { readonly map: CborMap; readonly length: number } | { readonly missing: number } {
  if (bytes.length === 0) return { missing: 0 };
  const tokens = new Tokenizer(bytes, RULES);
  try {
    const head = tokens.next();
    if (!Type.equals(head.type, Type.map)) throw malformed('an item is not a map');
    const count = head.value as number;
    if (count > MAX_KEYS) throw malformed(`an item has more than ${MAX_KEYS} keys`);
    const map = new Map<string, unknown>();
    for (let pair = 0; pair < count; pair++) {
      if (tokens.done()) return { missing: 1 };
      const key = tokens.next();
      if (!Type.equals(key.type, Type.string)) throw malformed('a key is not a text');
      if (map.has(key.value as string)) throw malformed('an item has a key twice');
      if (tokens.done()) return { missing: 1 };
      const { type, value } = tokens.next() as { type: Type; value: unknown };
      if (!type.terminal || Type.equals(type, Type.break)) throw malformed('a value has a structure');
      map.set(key.value as string, value);
    }
    return { map, length: tokens.pos() };
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    if (isIncomplete(error)) return { missing: missingAt(bytes, tokens.pos()) };
    throw malformed('it is malformed');
  }
}

/** Bytes missing from the incomplete token at a position, as far as a byte string or text announces them; otherwise 1. */
function missingAt(bytes: Buffer, position: number): number {
  const head = bytes.readUInt8(position);
  const [major, info] = [head >> 5, head & 0x1f];
  const width = info < 24 ? 0 : 2 ** (info - 24);
  const start = position + 1 + width;
  if ((major !== 2 && major !== 3) || start > bytes.length) return 1;
  const announced =
    width === 0
      ? info
      : width === 8
        ? Number(bytes.readBigUInt64BE(start - 8))
        : bytes.readUIntBE(start - width, width);
  return start + announced - bytes.length;
}

/** The library has no error class for it. */
const isIncomplete = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('not enough data for type');

const malformed = (reason: string): BadRequest =>
  new BadRequest(`the body is not a CBOR sequence of batch items: ${reason}`);
