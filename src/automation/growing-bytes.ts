import { PayloadTooLarge } from '../platform/http/index.js';

const FIRST_CAPACITY = 4 * 1024;

/** A text in UTF-8 that comes bit by bit, up to a limit. What it grows out of is wiped. */
export class GrowingBytes {
  private bytes = Buffer.allocUnsafe(FIRST_CAPACITY);
  private used = 0;

  /** @param limit in bytes */
  constructor(private readonly limit: number) {}

  get size(): number {
    return this.used;
  }

  /** Adds a piece of a chunk. @throws PayloadTooLarge */
  append(chunk: Buffer, from: number, end: number): void {
    this.makeRoom(end - from);
    this.used += chunk.copy(this.bytes, this.used, from, end);
  }

  /** Adds one character. @throws PayloadTooLarge */
  appendCharacter(character: string): void {
    this.makeRoom(Buffer.byteLength(character, 'utf8'));
    this.used += this.bytes.write(character, this.used, 'utf8');
  }

  /** All of them so far; no copy. */
  whole(): Buffer {
    return this.bytes.subarray(0, this.used);
  }

  wipe(): void {
    this.bytes.fill(0);
  }

  private makeRoom(needed: number): void {
    const size = this.used + needed;
    if (size > this.limit) throw new PayloadTooLarge(`the content is larger than ${this.limit} bytes`);
    if (size <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.min(Math.max(size, this.bytes.length * 2), this.limit));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes.fill(0);
    this.bytes = larger;
  }
}
