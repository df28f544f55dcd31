import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { Database, type Tx } from '../../platform/database/index.js';
import { BadRequest, Conflict, NotFound } from '../../platform/http/index.js';
import { type FairLimits, type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { projectionStatements } from './checkpoints.queries.js';

export interface SummaryEntry {
  readonly encryptedPath: string;
  readonly action: 'created' | 'modified' | 'deleted';
  /** Number of log rows that touch the path within the window. */
  readonly changeCount: number;
  readonly latestVersion: number;
}

export interface Summary {
  readonly fromCursor: number;
  readonly toCursor: number;
  readonly entries: SummaryEntry[];
}

export interface ManifestEntry {
  readonly encryptedPath: string;
  readonly op: 'restore' | 'delete' | 'noop';
  readonly beforeVersionId: string | null;
  readonly afterVersionId: string | null;
}

export interface Manifest {
  /** The head that the diff was computed against. */
  readonly expectedHeadCursor: number;
  readonly entries: ManifestEntry[];
}

/** `versionId` is null for a legacy change without a version row. */
export type NoteState = { readonly versionId: string | null } | { readonly absent: true };

/** Projections of longer logs may use much memory, so they run one at a time. */
const SMALL_LOG = 1_000;

/** How many changes before a window can be read in the time of the two lookups for one of its files. */
const LOOKUP_COST = 8;
const LARGE: FairLimits = {
  atOnce: 1,
  waiting: 128,
  perOwner: { atOnce: 1, waiting: 32 },
  waitMs: 10_000,
  busy: 'too many projections are being computed',
};
/**
 * Small projections do not wait for large ones. Each needs at most 4 MiB for paths; two at once, because with all
 * connections in use nothing else would proceed.
 */
const SMALL: FairLimits = { ...LARGE, atOnce: 2 };

/** The user who requests a projection, and the workspace. */
export interface ProjectionOf {
  readonly userId: string;
  readonly workspaceId: string;
}

interface Compactable {
  readonly compactionFloor: number | null;
}

interface Mark extends Compactable {
  readonly cursor: number;
  readonly olderCursor: number;
  readonly headCursor: number;
}

interface MarkedNote extends Compactable {
  readonly action: 'upsert' | 'delete' | null;
  readonly versionId: string | null;
}

/**
 * Three read-only projections of the log at a checkpoint. Each runs on one database snapshot, so head and rows are
 * consistent. All throw NotFound when the checkpoint does not exist and Conflict once the log has been compacted.
 */
@Injectable()
export class Projections {
  private readonly small: FairSemaphore;
  private readonly large: FairSemaphore;

  constructor(
    private readonly database: Database,
    queues: Queues,
  ) {
    this.small = queues.open('small_projections', SMALL);
    this.large = queues.open('large_projections', LARGE);
  }

  /**
   * Summarizes the changes in the window (fromCursor, checkpoint.cursor]; by default from the next-older checkpoint.
   * @throws BadRequest when `fromCursor` is above the checkpoint's cursor
   */
  summary(of: ProjectionOf, checkpointId: string, fromCursor?: number): Promise<Summary> {
    const fromOf = (mark: Mark): number => fromCursor ?? mark.olderCursor;
    const project = async (tx: Tx, mark: Mark): Promise<Summary> => {
      const from = fromOf(mark);
      if (from > mark.cursor) throw new BadRequest('fromCursor is above the cursor of the checkpoint');
      refuseCompacted(mark);
      const entries = await summarize(tx, of.workspaceId, from, mark.cursor);
      return { fromCursor: from, toCursor: mark.cursor, entries };
    };
    const isSmall = (mark: Mark): boolean =>
      isSmallLog(mark) || (mark.cursor - fromOf(mark) <= SMALL_LOG && isByKey(fromOf(mark), mark.cursor));
    return this.inTurn(of, checkpointId, project, isSmall);
  }

  /** The operations that bring every path to the checkpoint; paths absent on both sides are omitted. */
  restoreManifest(of: ProjectionOf, checkpointId: string): Promise<Manifest> {
    return this.inTurn(of, checkpointId, async (tx, mark) => {
      refuseCompacted(mark);
      const entries = await tx.run<ManifestEntry>(projectionStatements.manifest, [
        of.workspaceId,
        mark.cursor,
      ]);
      return { expectedHeadCursor: mark.headCursor, entries };
    });
  }

  /** The version that a path had at the checkpoint; absent when it was deleted or not yet created. */
  async noteState(workspaceId: string, checkpointId: string, encryptedPath: string): Promise<NoteState> {
    if (!isUUID(checkpointId)) throw new NotFound('checkpoint not found');
    const values = [workspaceId, checkpointId, encryptedPath];
    const [row] = await this.database.run<MarkedNote>(projectionStatements.noteState, values);
    if (!row) throw new NotFound('checkpoint not found');
    refuseCompacted(row);
    return row.action === 'upsert' ? { versionId: row.versionId } : { absent: true };
  }

  /**
   * Users take turns; large projections have their own queue. No request holds a connection while it waits.
   * @throws ServiceUnavailable
   */
  private async inTurn<T>(
    { userId, workspaceId }: ProjectionOf,
    checkpointId: string,
    project: (tx: Tx, mark: Mark) => Promise<T>,
    isSmall = isSmallLog,
  ): Promise<T> {
    const small = await this.small.during(userId, () =>
      this.onSnapshot(workspaceId, checkpointId, async (tx, mark) =>
        isSmall(mark) ? { projection: await project(tx, mark) } : undefined,
      ),
    );
    if (small) return small.projection;
    return this.large.during(userId, () => this.onSnapshot(workspaceId, checkpointId, project));
  }

  private async onSnapshot<T>(
    workspaceId: string,
    checkpointId: string,
    project: (tx: Tx, mark: Mark) => Promise<T>,
  ): Promise<T> {
    if (!isUUID(checkpointId)) throw new NotFound('checkpoint not found');
    return this.database.snapshot(async (tx) => {
      const [mark] = await tx.run<Mark>(projectionStatements.begin, [workspaceId, checkpointId]);
      if (!mark) throw new NotFound('checkpoint not found');
      return project(tx, mark);
    });
  }
}

const isSmallLog = ({ headCursor }: Mark): boolean => headCursor <= SMALL_LOG;

/** Whether looking up the state before a window file by file is cheaper than reading the log before it. */
const isByKey = (from: number, to: number): boolean => (to - from) * LOOKUP_COST < from;

function summarize(tx: Tx, workspaceId: string, from: number, to: number): Promise<SummaryEntry[]> {
  const window = [workspaceId, from, to];
  return isByKey(from, to)
    ? tx.run(projectionStatements.smallSummary, [...window, to - from])
    : tx.run(projectionStatements.summary, window);
}

/** Refuses any compacted log, whatever its floor: a projection may need rows below it (checkpoint rule 7). */
function refuseCompacted({ compactionFloor }: Compactable): void {
  if (compactionFloor === null) return;
  throw new Conflict('the change log has been compacted', { compactionFloor });
}
