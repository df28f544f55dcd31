/** A batch of a workspace's rows that were deleted in the order of their key. */
export interface Purged<K> {
  readonly removed: number;
  /** The highest key; null when nothing was deleted. */
  readonly last: K | null;
}

/**
 * A deletion of a workspace's rows, batch by batch, that continues where its last batch has ended: a batch that began with the
 * lowest key again would pass all the rows that were deleted before it, which the index keeps until it is vacuumed, so a
 * workspace would cost the square of its size. When nothing is left above, it begins again.
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
