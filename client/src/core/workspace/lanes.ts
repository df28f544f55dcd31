/** Groups items up to the limits of count and bytes. A single item may exceed the limit of bytes. */
export async function* batchesOf<T>(
  items: Iterable<T> | AsyncIterable<T>,
  sizeOf: (item: T) => number,
  limits: () => { readonly items: number; readonly bytes: number },
): AsyncGenerator<T[], void> {
  let batch: T[] = [];
  let bytes = 0;
  for await (const item of items) {
    const size = sizeOf(item);
    const most = limits();
    if (batch.length > 0 && (batch.length >= most.items || bytes + size > most.bytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Runs `work` for several items at once, and yields results as they arrive. After a failure, starts nothing new, waits for
 * the work in progress and throws.
 */
export async function* inLanes<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  lanes: () => number,
  work: (item: T) => Promise<readonly R[]>,
): AsyncGenerator<R, void> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const underWay = new Set<Promise<void>>();
  const results: (readonly R[])[] = [];
  const failures: unknown[] = [];
  let isOver = false;
  try {
    for (;;) {
      while (!isOver && failures.length === 0 && underWay.size < lanes()) {
        const next = await source.next();
        isOver = next.done === true;
        if (next.done) break;
        const doing: Promise<void> = work(next.value)
          .then(
            (some) => void results.push(some),
            (error: unknown) => void failures.push(error),
          )
          .finally(() => underWay.delete(doing));
        underWay.add(doing);
      }
      if (underWay.size > 0 && results.length === 0) await Promise.race(underWay);
      for (let some = results.shift(); some; some = results.shift()) yield* some;
      if (underWay.size === 0 && results.length === 0 && (isOver || failures.length > 0)) break;
    }
  } finally {
    await source.return?.();
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
}
