import { isUtf8 } from 'node:buffer';

/** The longest character, less one byte. */
const LONGEST_REST = 3;

/** Whether a text that comes in pieces is UTF-8. A character may be cut in two. */
export class Utf8Check {
  /** The bytes of a character that has begun. */
  private rest: Buffer = Buffer.alloc(0);
  private isSound = true;

  add(piece: Buffer): void {
    if (!this.isSound) return;
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, piece]) : piece;
    const end = lastBoundary(bytes);
    this.isSound = isUtf8(bytes.subarray(0, end));
    this.rest = Buffer.from(bytes.subarray(end));
    if (bytes !== piece) bytes.fill(0);
  }

  /** To be asked once, after the last piece. */
  isText(): boolean {
    return this.isSound && this.rest.length === 0;
  }
}

/** Where the last character begins, if its end is missing; otherwise the end. */
function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(LONGEST_REST, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
