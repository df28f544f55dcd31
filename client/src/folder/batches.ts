/** Larger contents are not held in memory. */
export const STREAM_ABOVE = 8 * 1024 * 1024;

/** Separates contents that are held in memory, in batches, from larger ones, which are streamed one by one. */
export function bySize<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  streamAbove = STREAM_ABOVE,
): { readonly small: readonly T[]; readonly large: readonly T[] } {
  const isLarge = (item: T): boolean => sizeOf(item) > streamAbove;
  return { small: items.filter((item) => !isLarge(item)), large: items.filter(isLarge) };
}

/** Most bytes of a batch in memory. A single file may be larger. */
export const BATCH_BYTES = 16 * 1024 * 1024;
export const BATCH_ITEMS = 500;

/** Splits items in order into batches that fit into memory. */
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
