/** Lower than every id: the start of a walk in ascending order. */
export const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';

/** Higher than every id: the start of a walk in descending order. */
export const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Deletes rows in batches until a batch is not full; once aborted, stops after the current batch. Returns the number deleted.
 * @param removed deletes one batch and returns its rows
 */
export async function removeInBatches(
  size: number,
  removed: () => Promise<readonly unknown[]>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0;
  for (let last = size; last === size && !signal?.aborted; total += last) last = (await removed()).length;
  return total;
}

/**
 * Yields rows in the order of their ids, page by page; the last page has fewer than `size` rows, perhaps none.
 * @param begin `BEFORE_ALL_IDS`, or `AFTER_ALL_IDS` for descending order
 * @param page returns up to `size` rows beyond an id
 */
export async function* pagesById<Row extends { readonly id: string }>(
  begin: string,
  size: number,
  page: (beyond: string) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  for (let beyond: string | undefined = begin; beyond !== undefined;) {
    const rows: Row[] = await page(beyond);
    yield rows;
    beyond = rows[size - 1]?.id;
  }
}

/** A batch of a workspace's rows that were deleted in the order of their key. */
export interface Purged<K> {
  readonly removed: number;
  /** The highest key; null when nothing was deleted. */
  readonly last: K | null;
}

/**
 * Deletes a workspace's rows in batches, each of which continues after the last key of the previous one. A batch that started at
 * the lowest key again would scan the index entries of all rows deleted before it, which remain until a vacuum, so the cost would
 * grow with the square of the workspace's size. Starts again at the lowest key when no higher one is left.
 * @param begin below all keys
 */
export function inKeyOrder<K, More extends unknown[] = []>(
  begin: K,
  batch: (workspaceId: string, above: K, ...more: More) => Promise<Purged<K>>,
): (workspaceId: string, ...more: More) => Promise<number> {
  const places = new Map<string, K>();
  return async (workspaceId, ...more) => {
    const purged = await batch(workspaceId, places.get(workspaceId) ?? begin, ...more);
    if (purged.last === null) places.delete(workspaceId);
    else places.set(workspaceId, purged.last);
    return purged.removed;
  };
}
