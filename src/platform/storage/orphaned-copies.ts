import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Clock } from '../clock.js';
import { Database, type Parameter, type Part, type Statement, type Tx } from '../database/index.js';
import type { Examination, Finding } from '../doctor.js';
import { Log } from '../log.js';
import {
  blobKey,
  type BlobLocation,
  type BlobStore,
  BlobStores,
  idsIn,
  type StoredObject,
  type StoreLocation,
} from './blob-store.js';
import {
  type BatchCounts,
  RETRY_AFTER_MS,
  STAGED_FOR_MS,
  SWEEP_BATCH,
  type SweepCounts,
  SweepLease,
  sweepParts,
} from './blob-sweeper.js';
import { doctorStatements, orphanedCopyStatements } from './blobs.queries.js';
import { ByteRemover } from './byte-remover.js';
import { hasWhole } from './hashed-body.js';
import { BlobLeftover } from './storage.entities.js';

/** Bytes in a store that no row of `blobs` refers to at that location. */
export interface OrphanedCopy {
  readonly location: StoreLocation;
  readonly workspaceId: string;
  readonly id: string;
}

interface Claimed extends OrphanedCopy {
  /** Location of the same bytes according to a row; null if there is no row, or the row holds the bytes itself. */
  readonly named: StoreLocation | null;
  /** Size according to that row. */
  readonly size: number | null;
}

/**
 * What an attempt to copy has written. `nothing`: any bytes under its key are not from this attempt. `perhaps more`: a write with
 * unknown outcome is in progress.
 */
export type Written = 'nothing' | 'some' | 'perhaps more';

/** For this long, a download that has read the row before a move still finds the bytes at the old location. */
const GRACE_MS = 60 * 60_000;

/**
 * The copies that moves between stores create and leave behind. Each is recorded before it exists and until it is deleted, so
 * a crash leaves no unknown bytes.
 */
@Injectable()
export class OrphanedCopies {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly remover: ByteRemover,
    private readonly clock: Clock,
    private readonly log: Log,
    @InjectRepository(BlobLeftover) private readonly leftovers: Repository<BlobLeftover>,
  ) {}

  /** Records a copy before it is made. Returns false if there already is one, which must be deleted first. */
  async announce(copy: OrphanedCopy): Promise<boolean> {
    const inserted = await this.leftovers
      .createQueryBuilder()
      .insert()
      .values({ ...keyOf(copy), state: 'copying', notBefore: this.after(STAGED_FOR_MS) })
      .orIgnore()
      .returning('id')
      .execute();
    return (inserted.raw as unknown[]).length > 0;
  }

  /** Call this in the transaction that points the row to the copy. Returns false if the sweeper has taken the copy. */
  async adopt(tx: Tx, copy: OrphanedCopy): Promise<boolean> {
    return deleteRecord(tx.manager.getRepository(BlobLeftover), copy);
  }

  /** Call this in the same transaction: marks the bytes that the row referred to before for deletion after a grace period. */
  async leave(tx: Tx, original: OrphanedCopy): Promise<void> {
    const left = { ...keyOf(original), state: 'dying', notBefore: this.after(GRACE_MS) } as const;
    // An existing record was marked for deletion just as a row started to refer to the copy, and was never claimed.
    await tx.manager.getRepository(BlobLeftover).upsert(left, ['location', 'workspaceId', 'id']);
  }

  /** Marks unknown bytes for deletion by the sweep. Returns false if a row refers to them, or they are recorded already. */
  async markForDeletion(found: OrphanedCopy, now: Date): Promise<boolean> {
    return (
      (await this.database.run(orphanedCopyStatements.markForDeletion, [...idsOf(found), now])).length > 0
    );
  }

  /** Call this in the transaction that points a row to these bytes again. Returns false if a sweeper is deleting them. */
  async reclaim(tx: Tx, bytes: OrphanedCopy): Promise<boolean> {
    const claimed = await tx.run(orphanedCopyStatements.reclaim, [...idsOf(bytes), this.clock.now()]);
    return claimed.length === 0;
  }

  /** Cleans up after a failed copy: marks the bytes it has written for deletion, and no others. */
  async giveUp(copy: OrphanedCopy, written: Written): Promise<void> {
    if (written === 'nothing') {
      await deleteRecord(this.leftovers, copy);
      return;
    }
    const notBefore = this.after(written === 'some' ? 0 : STAGED_FOR_MS);
    await this.leftovers.update({ ...keyOf(copy), state: 'copying' }, { state: 'dying', notBefore });
  }

  /**
   * Deletes copies that are due; two concurrent sweepers delete each one once. Postpones what may be the last copy.
   * @param signal once aborted, stops after the current batch
   */
  async sweep(now: Date, signal?: AbortSignal): Promise<SweepCounts> {
    const sweep = async (part: Part): Promise<BatchCounts> => {
      const lease = new SweepLease(this.clock);
      const values = [now, this.clock.now(), lease.until, SWEEP_BATCH];
      const claimed = await part.run<Claimed>(orphanedCopyStatements.claim, values);
      const mayGo = async (copy: Claimed): Promise<boolean> => (await this.isSpare(copy)) && lease.holds();
      const { gone, stuck } = await this.remover.remove(claimed, mayGo);
      await this.runFor(gone, orphanedCopyStatements.remove, [lease.until]);
      await this.runFor(stuck, orphanedCopyStatements.postpone, [lease.until, this.after(RETRY_AFTER_MS)]);
      return { found: claimed.length, claimed: claimed.length, gone: gone.length, stuck: stuck.length };
    };
    return sweepParts(this.database, signal, { sweep });
  }

  /**
   * Whether the copy is redundant. After stores or the database were restored, the location in a row may be empty: the copy then
   * has the only bytes, and the doctor points the row to it. A copy that no longer exists does not block the sweep.
   */
  private async isSpare({ location, workspaceId, id, named, size }: Claimed): Promise<boolean> {
    if (named === null) return true;
    const key = blobKey(workspaceId, id);
    if ((await this.sizeAt(named, key)) === size || (await this.sizeAt(location, key)) === undefined)
      return true;
    this.log.warn(
      { key, location, named },
      'a copy is kept: the location in its row does not have the bytes',
    );
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

/** Returns whether there was a record that no sweeper has taken. */
async function deleteRecord(leftovers: Repository<BlobLeftover>, copy: OrphanedCopy): Promise<boolean> {
  const { affected } = await leftovers.delete({ ...keyOf(copy), state: 'copying' });
  return affected === 1;
}

function keyOf({ location, workspaceId, id }: OrphanedCopy): OrphanedCopy {
  return { location, workspaceId, id };
}

function idsOf({ location, workspaceId, id }: OrphanedCopy): string[] {
  return [location, workspaceId, id];
}

interface Known {
  readonly workspaceId: string;
  readonly id: string;
  /** From its row; null if there is none. */
  readonly location: BlobLocation | null;
  readonly size: number | null;
  readonly sha256: string | null;
  readonly isLeftover: boolean;
}

/** Checks that all bytes in the stores are known: referenced by a row in any state, or waiting for deletion. */
@Injectable()
export class OrphansCheck {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly orphanedCopies: OrphanedCopies,
  ) {}

  /**
   * With `fix`, deletes the bytes. Danger: since the lookup, a move may have taken them for its copy. They are therefore never
   * deleted directly, but recorded and swept like the leftovers of a move.
   */
  async *orphans(examination: Examination): AsyncGenerator<Finding> {
    for (const store of await this.stores.all())
      for await (const page of store.list()) yield* this.amongst(page, store, examination);
  }

  private async *amongst(
    page: StoredObject[],
    store: BlobStore,
    { now, fix }: Examination,
  ): AsyncGenerator<Finding> {
    const found = await this.orphansIn(page, store, now);
    const orphans = fix ? await this.sweep(found, now) : found;
    for (const { workspaceId, id } of orphans) {
      const key = blobKey(workspaceId, id);
      yield {
        fault: 'orphan',
        subject: key,
        problem: `The ${store.location} store has bytes that no row refers to.`,
        cure: 'Run `doctor --fix`: it deletes them. If the database was restored from a backup, they are what was uploaded since that backup.',
        isFixed: fix && (await store.sizeOf(key)) === undefined,
      };
    }
  }

  private async orphansIn(page: StoredObject[], store: BlobStore, now: Date): Promise<OrphanedCopy[]> {
    const old = page.filter(({ modifiedAt }) => now.getTime() - modifiedAt.getTime() > STAGED_FOR_MS);
    const orphans: OrphanedCopy[] = [];
    for (const known of await this.known(old, store)) {
      if (await this.isNamed(known, store)) continue;
      const { workspaceId, id } = known;
      // The listing may be older than the deletion of both bytes and row.
      if ((await store.sizeOf(blobKey(workspaceId, id))) === undefined) continue;
      orphans.push({ location: store.location, workspaceId, id });
    }
    return orphans;
  }

  /** Returns those that are still orphans. */
  private async sweep(found: readonly OrphanedCopy[], now: Date): Promise<OrphanedCopy[]> {
    const orphans: OrphanedCopy[] = [];
    for (const orphan of found)
      if (await this.orphanedCopies.markForDeletion(orphan, now)) orphans.push(orphan);
    if (orphans.length > 0) await this.orphanedCopies.sweep(now);
    return orphans;
  }

  private async known(objects: StoredObject[], store: BlobStore): Promise<Known[]> {
    const ids = objects.flatMap(({ key }) => idsIn(key) ?? []);
    if (ids.length === 0) return [];
    const columns = [ids.map(({ workspaceId }) => workspaceId), ids.map(({ id }) => id)];
    return this.database.run<Known>(doctorStatements.known, [...columns, store.location]);
  }

  /**
   * If a row refers to the bytes at another location, they are only redundant when they are complete there; otherwise these may
   * be the good ones.
   */
  private async isNamed(known: Known, store: BlobStore): Promise<boolean> {
    const { location, size, sha256, isLeftover } = known;
    if (isLeftover || location === store.location) return true;
    if (location === null || location === 'inline') return false;
    if (size === null || sha256 === null) return true;
    return !(await hasWhole(await this.stores.at(location), { ...known, size, sha256 }));
  }
}
