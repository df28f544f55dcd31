import { Conflict } from '../platform/http/index.js';

/**
 * A cursor below the floor has lost its changes to compaction; one above the head is of a log that a restored backup
 * has forgotten. Either client must start again from the snapshot. @throws Conflict
 */
export function refuseUnknownCursor(
  cursor: number,
  log: { readonly headCursor: number; readonly compactionFloor: number | null },
): void {
  const floor = log.compactionFloor ?? 0;
  if (cursor >= floor && cursor <= log.headCursor) return;
  throw new Conflict('the cursor is not of this log; start again from the snapshot', {
    needsBootstrap: true,
    compactionFloor: floor,
  });
}
