import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Clock } from '../clock.js';
import {
  BEFORE_ALL_IDS,
  Database,
  type Part,
  inKeyOrder,
  type Parameter,
  type Purged,
  type Statement,
  type Tx,
  type WorkspaceTx,
} from '../database/index.js';
import { BlobEntity } from './storage.entities.js';
import { sweepStatements } from './blobs.queries.js';
import { ByteRemover, type StoredBytes } from './byte-remover.js';

/** Longer than a batch usually takes. What is not deleted within this time is left to another sweep. */
const CLAIMED_FOR_MS = 10 * 60_000;

/** Longer than deleting one blob may take: a deletion that has started ends within the lease. */
const LAST_REMOVAL_MS = 60_000;

/**
 * A sweeper's lease on the blobs that it deletes. It expires, because the process may die. Danger: a process that was
 * suspended may have outlived its lease, and a move may have written bytes to the key again; check `holds` before each
 * deletion.
 */
export class SweepLease {
  /** When the lease expires for other processes; also distinguishes it from a later lease on the same blob. */
  readonly until: Date;
  private readonly lastRemovalAt: number;

  /** Must be created before the statement that records it. */
  constructor(private readonly clock: Clock) {
    this.until = new Date(clock.now().getTime() + CLAIMED_FOR_MS);
    this.lastRemovalAt = clock.elapsed() + CLAIMED_FOR_MS - LAST_REMOVAL_MS;
  }

  /** Checks two clocks: the time of day can be set back, and the monotonic clock stops while the machine sleeps. */
  holds(): boolean {
    const left = this.until.getTime() - this.clock.now().getTime();
    return left > LAST_REMOVAL_MS && this.clock.elapsed() < this.lastRemovalAt;
  }
}

export const SWEEP_EVERY_MS = 10 * 60_000;

/**
 * Longer than any upload may take, so a row this old belongs to a dead upload. Its bytes may remain for an hour: by then the
 * next sweep has run, and another one in case that one was killed while it deleted them.
 */
export const STAGED_FOR_MS = 30 * 60_000;

/** The next sweep retries a blob that cannot be deleted; it does not block others. */
export const RETRY_AFTER_MS = SWEEP_EVERY_MS / 2;

export const SWEEP_BATCH = 200;

/** Blobs whose deletion needs no call to a store. */
const INLINE_BATCH = 1_000;

export interface SweepCounts {
  readonly gone: number;
  /** Not deleted, or not known to be deleted: postponed. */
  readonly stuck: number;
}

export interface BatchCounts extends SweepCounts {
  readonly found: number;
  readonly claimed: number;
}

/** Sweeps one part of the workspace tables after another, in batches. @param signal once aborted, stops after the current batch */
export async function sweepParts(
  database: Database,
  signal: AbortSignal | undefined,
  { begin, sweep }: { begin?: (part: Part) => Promise<unknown>; sweep: (part: Part) => Promise<BatchCounts> },
): Promise<SweepCounts> {
  const tally = { gone: 0, stuck: 0 };
  for (const part of await database.parts()) {
    await begin?.(part);
    for (let isOver = false; !isOver && !signal?.aborted;) {
      const { found, claimed, gone, stuck } = await sweep(part);
      tally.gone += gone;
      tally.stuck += stuck;
      // If nothing of a batch can be deleted, the store is unavailable and the rest would fail as well.
      isOver = found < SWEEP_BATCH || (claimed > 0 && gone === 0);
    }
  }
  return tally;
}

type Ids = Pick<StoredBytes, 'workspaceId' | 'id'>;

interface Batch {
  readonly lease: SweepLease;
  /** The number of locked rows, including blobs that turn out to be referenced. */
  readonly locked: number;
  readonly claimed: StoredBytes[];
}

/**
 * Deletes blobs without references: first the bytes, then the row that refers to them, so that a crash leaves no bytes without a
 * row.
 *
 * Under the row's lock, a blob is checked to have no reference and claimed; only then, outside the transaction, are its bytes
 * deleted. Danger: this is safe because a blob without a reference can never get one again. A blob becomes live only from staged,
 * and a claimed blob is marked for deletion; a restore copies the reference of an existing version row, under the lock of the
 * workspace. Code that refers to blobs in any other way must follow this rule, or lock the row and check that it is live.
 */
@Injectable()
export class BlobSweeper {
  private readonly removeInline: (workspaceId: string) => Promise<number>;
  private readonly removeStored: (workspaceId: string, now: Date) => Promise<number>;

  constructor(
    private readonly database: Database,
    private readonly remover: ByteRemover,
    private readonly clock: Clock,
    @InjectRepository(BlobEntity) private readonly blobs: Repository<BlobEntity>,
  ) {
    this.removeInline = inKeyOrder(BEFORE_ALL_IDS, async (workspaceId, above) => {
      const values = [workspaceId, above, INLINE_BATCH];
      const [purged] = await database.run<Purged<string>>(
        sweepStatements.removeInlineOfDeletedWorkspace,
        values,
      );
      return purged ?? { removed: 0, last: null };
    });
    this.removeStored = inKeyOrder(BEFORE_ALL_IDS, (workspaceId, above, now: Date) =>
      this.sweepStored(workspaceId, above, now),
    );
  }

  /** Deletes the remains of crashed uploads, and blobs past their grace period, oldest first. Returns the number deleted. */
  async sweep(now: Date): Promise<number> {
    return (await this.sweepAll(now)).gone;
  }

  /**
   * Like `sweep`, but also returns the number of blobs that could not be deleted.
   * @param signal once aborted, stops after the current batch
   */
  async sweepAll(now: Date, signal?: AbortSignal): Promise<SweepCounts> {
    const before = new Date(now.getTime() - STAGED_FOR_MS);
    return sweepParts(this.database, signal, {
      begin: (part) => part.run(sweepStatements.markStagedForDeletion, [before, now]),
      sweep: async (part) => {
        const values = [now, this.clock.now(), SWEEP_BATCH];
        const batch = await part.transaction((tx) => this.claim(tx, sweepStatements.lockDue, values));
        return { found: batch.locked, claimed: batch.claimed.length, ...(await this.remove(batch)) };
      },
    });
  }

  /**
   * Deletes up to one batch of the blobs of a deleted workspace whose versions are already deleted: first those with their bytes
   * in the row, then the others, each in the order of ids. Uploads in progress keep their staged row until they fail, so that
   * their bytes stay on record. Returns the number of deleted blobs; 0 when none is left, or none can be deleted now.
   */
  async sweepWorkspace(workspaceId: string, now: Date): Promise<number> {
    const inline = await this.removeInline(workspaceId);
    return inline > 0 ? inline : this.removeStored(workspaceId, now);
  }

  private async sweepStored(workspaceId: string, above: string, now: Date): Promise<Purged<string>> {
    const before = new Date(now.getTime() - STAGED_FOR_MS);
    const values = [workspaceId, before, this.clock.now(), SWEEP_BATCH, above];
    const batch = await this.database.workspaceTransaction(workspaceId, (tx) =>
      this.claim(tx, sweepStatements.lockOfDeletedWorkspace, values),
    );
    const { gone } = await this.remove(batch);
    const last = batch.claimed.map(({ id }) => id).reduce((a, b) => (a > b ? a : b), above);
    if (batch.claimed.length === 0) await this.tidy(workspaceId);
    return { removed: gone, last: gone > 0 ? last : null };
  }

  /** Locks rows, revives those that turn out to be referenced, and claims the others. */
  private async claim(tx: WorkspaceTx, lock: Statement, values: Parameter[]): Promise<Batch> {
    const lease = new SweepLease(this.clock);
    const locked = await tx.run<Ids>(lock, values);
    await this.runFor(locked, sweepStatements.revive, [], tx);
    const columns = [this.clock.now(), lease.until];
    const claimed = await this.runFor<StoredBytes>(locked, sweepStatements.claim, columns, tx);
    return { lease, locked: locked.length, claimed };
  }

  private async remove({ lease, claimed }: Batch): Promise<SweepCounts> {
    const { gone, stuck } = await this.remover.remove(claimed, () => lease.holds());
    await this.runFor(gone, sweepStatements.removeRows, [lease.until]);
    const later = new Date(this.clock.now().getTime() + RETRY_AFTER_MS);
    await this.runFor(stuck, sweepStatements.postpone, [lease.until, later]);
    return { gone: gone.length, stuck: stuck.length };
  }

  private async runFor<Row>(
    blobs: readonly Ids[],
    statement: Statement,
    more: Parameter[] = [],
    on: Pick<Tx, 'run'> = this.database,
  ): Promise<Row[]> {
    if (blobs.length === 0) return [];
    const workspaceIds = blobs.map(({ workspaceId }) => workspaceId);
    return on.run<Row>(statement, [workspaceIds, blobs.map(({ id }) => id), ...more]);
  }

  /** Not during an upload: the upload would lose its directory between creating it and writing to it. */
  private async tidy(workspaceId: string): Promise<void> {
    if (!(await this.blobs.existsBy({ workspaceId }))) await this.remover.tidy(workspaceId);
  }
}
