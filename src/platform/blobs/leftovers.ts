import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/index.js';
import { Database, type Parameter, type Statement, type Tx } from '../database/index.js';
import type { StoreLocation } from './blob-store.js';
import { CLAIMED_FOR_MS, RETRY_AFTER_MS, STAGED_FOR_MS, SWEEP_BATCH, type Tally } from './blob-sweeper.js';
import { ByteRemover } from './byte-remover.js';
import { leftoverStatements } from './leftovers.queries.js';

/** Bytes in a store that no row of `blobs` names there. */
export interface Leftover {
  readonly location: StoreLocation;
  readonly workspaceId: string;
  readonly id: string;
}

/** A download that has read the row before a move finds the bytes where they were, for this long. */
const GRACE_MS = 60 * 60_000;

/**
 * The copies that moves between stores make and leave. Each is written down before it is there and until it is gone,
 * so that a crash leaves nothing that nobody knows of.
 */
@Injectable()
export class Leftovers {
  constructor(
    private readonly database: Database,
    private readonly remover: ByteRemover,
    private readonly clock: Clock,
  ) {}

  /** Before a copy is made. False when there is one already, which must go first. */
  async announce(copy: Leftover): Promise<boolean> {
    const until = this.after(STAGED_FOR_MS);
    return (await this.database.run(leftoverStatements.announce, [...idsOf(copy), until])).length > 0;
  }

  /** In the transaction whose commit makes the row name the copy. False when the sweeper has taken it. */
  async adopt(tx: Tx, copy: Leftover): Promise<boolean> {
    return (await tx.run(leftoverStatements.adopt, idsOf(copy))).length > 0;
  }

  /** In the same transaction: what the row has named until now goes after a grace. */
  async leave(tx: Tx, original: Leftover): Promise<void> {
    await tx.run(leftoverStatements.leave, [...idsOf(original), this.after(GRACE_MS)]);
  }

  /** In the transaction whose commit makes a row name these bytes again. False when a sweeper is at them. */
  async reclaim(tx: Tx, bytes: Leftover): Promise<boolean> {
    const claimed = await tx.run(leftoverStatements.reclaim, [...idsOf(bytes), this.clock.now()]);
    return claimed.length === 0;
  }

  /** A copy that came to nothing. @param mayStillCome whether a write is under way whose end nobody knows */
  async giveUp(copy: Leftover, mayStillCome: boolean): Promise<void> {
    await this.database.run(leftoverStatements.giveUp, [
      ...idsOf(copy),
      this.after(mayStillCome ? STAGED_FOR_MS : 0),
    ]);
  }

  /**
   * Removes those whose time has come; two sweepers at once remove each once.
   * @param signal once aborted, it ends with the batch under way
   */
  async sweep(now: Date, signal?: AbortSignal): Promise<Tally> {
    const tally = { gone: 0, stuck: 0 };
    while (!signal?.aborted) {
      const values = [now, this.clock.now(), this.after(CLAIMED_FOR_MS), SWEEP_BATCH];
      const claimed = await this.database.run<Leftover>(leftoverStatements.claim, values);
      const { gone, stuck } = await this.remover.remove(claimed);
      await this.runFor(gone, leftoverStatements.remove);
      await this.runFor(stuck, leftoverStatements.postpone, [this.after(RETRY_AFTER_MS)]);
      tally.gone += gone.length;
      tally.stuck += stuck.length;
      if (claimed.length < SWEEP_BATCH || gone.length === 0) break;
    }
    return tally;
  }

  private async runFor(
    leftovers: readonly Leftover[],
    statement: Statement,
    more: Parameter[] = [],
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

function idsOf({ location, workspaceId, id }: Leftover): string[] {
  return [location, workspaceId, id];
}
