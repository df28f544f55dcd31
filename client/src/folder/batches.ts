/** Contents above this are not held in memory. */
export const STREAM_ABOVE = 8 * 1024 * 1024;

/** Tells what is held in memory, in batches, from what is not, which goes alone. */
export function bySize<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  streamAbove = STREAM_ABOVE,
): { readonly small: readonly T[]; readonly large: readonly T[] } {
  const isLarge = (item: T): boolean => sizeOf(item) > streamAbove;
  return { small: items.filter((item) => !isLarge(item)), large: items.filter(isLarge) };
}

/** Bytes that are held at a time, unless a single file is larger. */
export const BATCH_BYTES = 16 * 1024 * 1024;
export const BATCH_ITEMS = 500;

/** Cuts work into pieces whose contents fit into memory together, in order. */
export function* inBatches<T>(items: readonly T[], sizeOf: (item: T) => number): Iterable<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (batch.length > 0 && (batch.length >= BATCH_ITEMS || bytes + size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
