/** Lower than every id: the start of a walk in ascending order. */
export const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';

/** Higher than every id: the start of a walk in descending order. */
export const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Deletes rows in batches until a batch is not full; once aborted, stops after the current batch. Returns the number of
 * deleted rows.
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
