import type { Database } from '../platform/database/index.js';
import { Conflict } from '../platform/http/index.js';
import { syncStatements } from './sync.queries.js';

interface Log {
  readonly headCursor: number;
  readonly compactionFloor: number | null;
}

interface Asked {
  readonly workspaceId: string;
  readonly cursor: number;
  /** The first change above the cursor, where it has been read: the one right after it needs no further look. */
  readonly next?: number | null | undefined;
}

/** A cursor that is not of this log. @throws Conflict needsBootstrap */
export async function refuseCursor(
  reader: Pick<Database, 'run'>,
  { workspaceId, cursor, next }: Asked,
  log: Log,
): Promise<void> {
  refuseUnknownCursor(cursor, log);
  if (next !== cursor + 1) await refuseLostCursor(reader, workspaceId, cursor, log);
}

/**
 * A cursor below the floor has lost its changes to compaction; one above the head is of a log that a restored backup
 * has forgotten. Either client must start again from the snapshot. @throws Conflict
 */
function refuseUnknownCursor(cursor: number, log: Log): void {
  if (cursor >= (log.compactionFloor ?? 0) && cursor <= log.headCursor) return;
  throw mustBootstrap(log);
}

/**
 * Cursors are dense but for the gap that a restored backup leaves above its head, so that no cursor stands for two changes.
 * One from within was given out before, for changes that the backup has not: its client must start again as well. The
 * change that the floor stands for may have gone, and nothing above it has.
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
  return new Conflict('the cursor is not of this log; start again from the snapshot', {
    needsBootstrap: true,
    compactionFloor: compactionFloor ?? 0,
  });
}
