import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, type Parameter, type Statement, type Tx } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';
import { blobKey, type StoreLocation } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { RETRY_AFTER_MS, STAGED_FOR_MS, SWEEP_BATCH, SweepLease, type Tally } from './blob-sweeper.js';
import { ByteRemover } from './byte-remover.js';
import { orphanedCopyStatements } from './orphaned-copies.queries.js';

/** Bytes in a store that no row of `blobs` names there. */
export interface OrphanedCopy {
  readonly location: StoreLocation;
  readonly workspaceId: string;
  readonly id: string;
}

interface Claimed extends OrphanedCopy {
  /** Where a row has the same bytes; null when no row does, or has them in itself. */
  readonly named: StoreLocation | null;
  /** As that row says. */
  readonly size: number | null;
}

/**
 * What an attempt at a copy has written. `nothing`: what lies under its key is somebody else's. `perhaps more`: a write
 * is under way whose end nobody knows.
 */
export type Written = 'nothing' | 'some' | 'perhaps more';

/** A download that has read the row before a move finds the bytes where they were, for this long. */
const GRACE_MS = 60 * 60_000;

/**
 * The copies that moves between stores make and leave. Each is written down before it is there and until it is gone,
 * so that a crash leaves nothing that nobody knows of.
 */
@Injectable()
export class OrphanedCopies {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly remover: ByteRemover,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** Before a copy is made. False when there is one already, which must go first. */
  async announce(copy: OrphanedCopy): Promise<boolean> {
    const until = this.after(STAGED_FOR_MS);
    return (await this.database.run(orphanedCopyStatements.announce, [...idsOf(copy), until])).length > 0;
  }

  /** In the transaction whose commit makes the row name the copy. False when the sweeper has taken it. */
  async adopt(tx: Tx, copy: OrphanedCopy): Promise<boolean> {
    return (await tx.run(orphanedCopyStatements.adopt, idsOf(copy))).length > 0;
  }

  /** In the same transaction: what the row has named until now goes after a grace. */
  async leave(tx: Tx, original: OrphanedCopy): Promise<void> {
    await tx.run(orphanedCopyStatements.leave, [...idsOf(original), this.after(GRACE_MS)]);
  }

  /** Bytes that were found, and that nobody knows of: the sweep takes them. False when a row names them, or they are known. */
  async markForDeletion(found: OrphanedCopy, now: Date): Promise<boolean> {
    return (
      (await this.database.run(orphanedCopyStatements.markForDeletion, [...idsOf(found), now])).length > 0
    );
  }

  /** In the transaction whose commit makes a row name these bytes again. False when a sweeper is at them. */
  async reclaim(tx: Tx, bytes: OrphanedCopy): Promise<boolean> {
    const claimed = await tx.run(orphanedCopyStatements.reclaim, [...idsOf(bytes), this.clock.now()]);
    return claimed.length === 0;
  }

  /** A copy that came to nothing: what was written of it goes, and nothing else. */
  async giveUp(copy: OrphanedCopy, written: Written): Promise<void> {
    if (written === 'nothing') {
      await this.database.run(orphanedCopyStatements.adopt, idsOf(copy));
      return;
    }
    const goesAt = this.after(written === 'some' ? 0 : STAGED_FOR_MS);
    await this.database.run(orphanedCopyStatements.giveUp, [...idsOf(copy), goesAt]);
  }

  /**
   * Removes those whose time has come; two sweepers at once remove each once. What may be the last copy is postponed.
   * @param signal once aborted, it ends with the batch under way
   */
  async sweep(now: Date, signal?: AbortSignal): Promise<Tally> {
    const tally = { gone: 0, stuck: 0 };
    while (!signal?.aborted) {
      const lease = new SweepLease(this.clock);
      const values = [now, this.clock.now(), lease.until, SWEEP_BATCH];
      const claimed = await this.database.run<Claimed>(orphanedCopyStatements.claim, values);
      const mayGo = async (copy: Claimed): Promise<boolean> => (await this.isSpare(copy)) && lease.holds();
      const { gone, stuck } = await this.remover.remove(claimed, mayGo);
      await this.runFor(gone, orphanedCopyStatements.remove, [lease.until]);
      await this.runFor(stuck, orphanedCopyStatements.postpone, [lease.until, this.after(RETRY_AFTER_MS)]);
      tally.gone += gone.length;
      tally.stuck += stuck.length;
      if (claimed.length < SWEEP_BATCH || gone.length === 0) break;
    }
    return tally;
  }

  /**
   * After stores or database were put back, the place that a row names may have nothing: then the copy is what there
   * is, and the doctor makes the row name it. A copy that is gone already keeps nobody waiting.
   */
  private async isSpare({ location, workspaceId, id, named, size }: Claimed): Promise<boolean> {
    if (named === null) return true;
    const key = blobKey(workspaceId, id);
    if ((await this.sizeAt(named, key)) === size || (await this.sizeAt(location, key)) === undefined)
      return true;
    this.log.warn({ key, location, named }, 'a copy is kept: the place that the row names has not its bytes');
    return false;
  }

  private async sizeAt(location: StoreLocation, key: string): Promise<number | undefined> {
    return (await this.stores.at(location)).sizeOf(key);
  }

  private async runFor(
    leftovers: readonly OrphanedCopy[],
    statement: Statement,
    more: Parameter[],
  ): Promise<void> {
    if (leftovers.length === 0) return;
    const columns = [
      leftovers.map(({ location }) => location),
      leftovers.map(({ workspaceId }) => workspaceId),
      leftovers.map(({ id }) => id),
    ];
    await this.database.run(statement, [...columns, ...more]);
  }

  private after(ms: number): Date {
    return new Date(this.clock.now().getTime() + ms);
  }
}

function idsOf({ location, workspaceId, id }: OrphanedCopy): string[] {
  return [location, workspaceId, id];
}
