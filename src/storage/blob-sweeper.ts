import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, type Parameter, type Statement, type Tx } from '../platform/database/index.js';
import { BlobReferences } from './blob-references.js';
import { ByteRemover, type StoredBytes } from './byte-remover.js';
import { type SweepStatements, sweepStatements } from './sweep.queries.js';

/** Longer than a batch takes as a rule. What it does not come to within this time is left to another sweep. */
const CLAIMED_FOR_MS = 10 * 60_000;

/** Longer than the removal of one blob may take: one that is begun ends within the lease. */
const LAST_REMOVAL_MS = 60_000;

/**
 * A sweeper's lease on what it removes. It ends, as its process may die. Danger: a process that stood still may have
 * outlived its lease, and a move may have brought bytes back to a key meanwhile; so `holds` is asked before each
 * removal.
 */
export class SweepLease {
  /** Until when others take it for good; tells it apart from a later one to the same blob. */
  readonly until: Date;
  private readonly lastRemovalAt: number;

  /** To be made before the statement that writes it down. */
  constructor(private readonly clock: Clock) {
    this.until = new Date(clock.now().getTime() + CLAIMED_FOR_MS);
    this.lastRemovalAt = clock.elapsed() + CLAIMED_FOR_MS - LAST_REMOVAL_MS;
  }

  /** Asks two clocks: the time of day can be set back, and the other one stands still while the machine sleeps. */
  holds(): boolean {
    const left = this.until.getTime() - this.clock.now().getTime();
    return left > LAST_REMOVAL_MS && this.clock.elapsed() < this.lastRemovalAt;
  }
}

export const SWEEP_EVERY_MS = 10 * 60_000;

/**
 * Longer than any upload may take, so that a row this old belongs to an upload that has died. Its bytes may lie there for
 * an hour: until then the next sweep has come by, and another one should that one be killed with them in hand.
 */
export const STAGED_FOR_MS = 30 * 60_000;

/** A blob that cannot be removed is taken up again by the next sweep, and keeps nothing waiting behind it. */
export const RETRY_AFTER_MS = SWEEP_EVERY_MS / 2;

export const SWEEP_BATCH = 200;

/** What has become of bytes that were to be removed. */
export interface Tally {
  readonly gone: number;
  /** Not removed, or not known to be: postponed. */
  readonly stuck: number;
}

type Ids = Pick<StoredBytes, 'workspaceId' | 'id'>;

interface Batch {
  readonly lease: SweepLease;
  /** How many were locked, those that live on included. */
  readonly locked: number;
  readonly claimed: StoredBytes[];
}

/**
 * Removes blobs that nothing refers to: bytes first, then the row that names them, so that a crash forgets nothing.
 *
 * Under the row's lock a blob is seen to have no reference, is claimed, and only then, outside the transaction, loses
 * its bytes. Danger: this holds because a blob without a reference can never get one again. What becomes live is
 * staged, and a claimed blob is dying; a restore copies the reference of a version row that exists, under the lock of
 * the workspace. Who wants to refer to blobs in another way must keep to that, or lock the row and see it live.
 */
@Injectable()
export class BlobSweeper {
  private readonly statements: SweepStatements;

  constructor(
    private readonly database: Database,
    private readonly remover: ByteRemover,
    private readonly clock: Clock,
    references: BlobReferences,
  ) {
    this.statements = sweepStatements(references);
  }

  /** Takes up what crashed uploads left behind and what is past its grace, oldest first. Returns how many blobs went. */
  async sweep(now: Date): Promise<number> {
    return (await this.sweepAll(now)).gone;
  }

  /** As `sweep`; says too how many could not be removed. @param signal once aborted, it ends with the batch under way */
  async sweepAll(now: Date, signal?: AbortSignal): Promise<Tally> {
    await this.database.run(this.statements.markStagedForDeletion, [
      new Date(now.getTime() - STAGED_FOR_MS),
      now,
    ]);
    const tally = { gone: 0, stuck: 0 };
    while (!signal?.aborted) {
      const batch = await this.claim(this.statements.lockDue, [now, this.clock.now(), SWEEP_BATCH]);
      const { gone, stuck } = await this.remove(batch);
      tally.gone += gone;
      tally.stuck += stuck;
      // A whole batch that stays is a store that is away: the others would fare no better.
      if (batch.locked < SWEEP_BATCH || (batch.claimed.length > 0 && gone === 0)) break;
    }
    return tally;
  }

  /**
   * Removes up to a batch of a deleted workspace's blobs, whose versions are gone already. Uploads still under way
   * keep their staged row until they fail, so that none of their bytes is forgotten. Returns how many went; 0 when
   * none is left, or none that can be removed now.
   */
  async sweepWorkspace(workspaceId: string, now: Date): Promise<number> {
    const before = new Date(now.getTime() - STAGED_FOR_MS);
    const values = [workspaceId, before, this.clock.now(), SWEEP_BATCH];
    const batch = await this.claim(this.statements.lockOfDeletedWorkspace, values);
    if (batch.claimed.length === 0) await this.tidy(workspaceId);
    return (await this.remove(batch)).gone;
  }

  /** Locks rows, sets right those that are referred to after all, and claims the others. */
  private claim(lock: Statement, values: Parameter[]): Promise<Batch> {
    return this.database.transaction(async (tx) => {
      const lease = new SweepLease(this.clock);
      const locked = await tx.run<Ids>(lock, values);
      await this.runFor(locked, this.statements.revive, [], tx);
      const columns = [this.clock.now(), lease.until];
      const claimed = await this.runFor<StoredBytes>(locked, this.statements.claim, columns, tx);
      return { lease, locked: locked.length, claimed };
    });
  }

  private async remove({ lease, claimed }: Batch): Promise<Tally> {
    const { gone, stuck } = await this.remover.remove(claimed, () => lease.holds());
    await this.runFor(gone, this.statements.removeRows, [lease.until]);
    const later = new Date(this.clock.now().getTime() + RETRY_AFTER_MS);
    await this.runFor(stuck, this.statements.postpone, [lease.until, later]);
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

  /** Not while an upload is under way: it would lose its directory between making it and writing there. */
  private async tidy(workspaceId: string): Promise<void> {
    const left = await this.database.run(this.statements.anyOfWorkspace, [workspaceId]);
    if (left.length === 0) await this.remover.tidy(workspaceId);
  }
}
