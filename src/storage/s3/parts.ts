export interface Part {
  /** Valid until the next part is asked for: all parts share one buffer. */
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Cuts a stream into parts of one size; the last one has what is left, which is nothing for an empty stream. */
export async function* partsOf(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Part> {
  const part = Buffer.allocUnsafeSlow(size); // of which the system gives only what is written to
  let filled = 0;
  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.length;) {
      if (filled === size) {
        yield { bytes: part, isLast: false };
        filled = 0;
      }
      const copied = chunk.copy(part, filled, taken);
      filled += copied;
      taken += copied;
    }
  }
  yield { bytes: part.subarray(0, filled), isLast: true };
}
