import type { Database } from '../../platform/database/index.js';
import { Conflict } from '../../platform/http/index.js';
import { syncStatements } from './sync.queries.js';

interface Log {
  readonly headCursor: number;
  readonly compactionFloor: number | null;
}

interface Asked {
  readonly workspaceId: string;
  readonly cursor: number;
  /**
   * The first change above the cursor, if already read. If it is the cursor's direct successor, no further query is
   * needed.
   */
  readonly next?: number | null | undefined;
}

/** Refuses a cursor that does not belong to this log. @throws Conflict needsBootstrap */
export async function refuseCursor(
  reader: Pick<Database, 'run'>,
  { workspaceId, cursor, next }: Asked,
  log: Log,
): Promise<void> {
  refuseUnknownCursor(cursor, log);
  if (next !== cursor + 1) await refuseLostCursor(reader, workspaceId, cursor, log);
}

/**
 * A cursor below the floor has lost its changes to compaction; a cursor above the head belongs to a log whose tail
 * was lost by restoring a backup. In both cases the client must start again from the snapshot. @throws Conflict
 */
function refuseUnknownCursor(cursor: number, log: Log): void {
  if (cursor >= (log.compactionFloor ?? 0) && cursor <= log.headCursor) return;
  throw mustBootstrap(log);
}

/**
 * Cursors are dense except for the gap that a restored backup leaves above its head; the gap keeps a cursor from
 * identifying two different changes. A cursor inside the gap was issued before the restore, for changes that the
 * backup does not have, so its client must start again from the snapshot too. The change at the floor itself may have
 * been removed; no change above the floor has.
 * @throws Conflict
 */
async function refuseLostCursor(
  reader: Pick<Database, 'run'>,
  workspaceId: string,
  cursor: number,
  log: Log,
): Promise<void> {
  if (cursor === 0 || cursor === log.headCursor || cursor === log.compactionFloor) return;
  const [known] = await reader.run<unknown>(syncStatements.isCursorKnown, [workspaceId, cursor]);
  if (!known) throw mustBootstrap(log);
}

function mustBootstrap({ compactionFloor }: Log): Conflict {
  return new Conflict('the cursor does not belong to this log; start again from the snapshot', {
    needsBootstrap: true,
    compactionFloor: compactionFloor ?? 0,
  });
}
