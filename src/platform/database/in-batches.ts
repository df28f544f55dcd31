/** Below every id: where a walk in the order of ids begins. */
export const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';

/** Above every id: where a walk against the order of ids begins. */
export const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Removes so many rows at a time until fewer are left; once aborted, it ends with the batch under way. Returns how many went.
 * @param removed a batch, as rows
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
 * Rows in the order of their ids, page by page; the last page has fewer than `size`, or none.
 * @param begin `BEFORE_ALL_IDS`, or `AFTER_ALL_IDS` against the order
 * @param page up to `size` rows beyond an id
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
