import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Readable } from 'node:stream';
import type { Repository } from 'typeorm';
import { Configuration } from '../config/index.js';
import { BEFORE_ALL_IDS, Database, type Tx } from '../database/index.js';
import { Log } from '../log.js';
import {
  blobKey,
  type BlobLocation,
  type BlobStore,
  BlobStores,
  OutcomeUnknown,
  type StoreLocation,
} from './blob-store.js';
import { BlobEntity } from './storage.entities.js';
import { moveStatements } from './blobs.queries.js';
import { type Described, HashedBody, hasWhole } from './hashed-body.js';
import { OrphanedCopies, type Written } from './orphaned-copies.js';

const PAGE = 500;
const AT_ONCE = 4;

export interface Moved {
  readonly moved: number;
  /** Deleted in the meantime, being moved by another run, or an earlier copy must be deleted first: left to the next run. */
  readonly skipped: number;
  /** Bytes missing or damaged, or a store fails; the log says which. */
  readonly failed: number;
}

interface Row extends Described {
  readonly location: BlobLocation;
  readonly isDue: boolean;
}

type Place = Pick<Row, 'workspaceId' | 'id' | 'location'>;

type Outcome = keyof Moved;

/**
 * Moves blobs between rows, disk and S3 while the service runs. Each blob separately: the copy is recorded, written, read back
 * and hashed; then one transaction points the row to it. Until then the old bytes are authoritative; afterwards they stay for a
 * grace period, for downloads that have read the row before the move. The next run resumes an interrupted one.
 *
 * Danger: the bytes at the target may be the only ones, for example after a database was restored to a state before a move. If
 * complete, they are never overwritten, and a move that did not write them never marks them for deletion.
 */
@Injectable()
export class BlobMover {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly orphanedCopies: OrphanedCopies,
    private readonly log: Log,
    @InjectRepository(BlobEntity) private readonly blobs: Repository<BlobEntity>,
  ) {}

  /**
   * Moves every live blob that belongs at that location.
   * @throws StoreUnavailable when that store cannot be opened
   */
  async moveAll(to: BlobLocation): Promise<Moved> {
    if (to !== 'inline') await this.stores.at(to);
    const counts = { moved: 0, skipped: 0, failed: 0 };
    const { inlineBlobBytes } = this.configuration;
    let [workspaceId, id] = [BEFORE_ALL_IDS, BEFORE_ALL_IDS];
    for (;;) {
      const values = [workspaceId, id, to, PAGE, inlineBlobBytes];
      const rows = await this.database.run<Row>(moveStatements.page, values);
      const due = rows.filter(({ isDue }) => isDue);
      for (let at = 0; at < due.length; at += AT_ONCE) {
        const outcomes = await Promise.all(due.slice(at, at + AT_ONCE).map((row) => this.attempt(row, to)));
        for (const outcome of outcomes) counts[outcome] += 1;
      }
      const last = rows[PAGE - 1];
      if (!last) return counts;
      ({ workspaceId, id } = last);
    }
  }

  /**
   * Points a row to bytes that another store already has. Returns false if the row has changed or those bytes are being swept.
   */
  pointTo(to: StoreLocation, row: Place): Promise<boolean> {
    const { workspaceId, id } = row;
    return this.commitIf(
      async (tx) =>
        (await this.orphanedCopies.reclaim(tx, { location: to, workspaceId, id })) &&
        (await pointTo(tx, row, to, null)),
    );
  }

  private async attempt(row: Row, to: BlobLocation): Promise<Outcome> {
    try {
      return (await (to === 'inline' ? this.moveInline(row) : this.moveTo(to, row))) ? 'moved' : 'skipped';
    } catch (err) {
      this.log.error(
        { err, key: blobKey(row.workspaceId, row.id), from: row.location, to },
        'could not move a blob',
      );
      return 'failed';
    }
  }

  private async moveInline(row: Row): Promise<boolean> {
    const body = new HashedBody(await this.read(row));
    const bytes = (await body.upTo(row.size)) ?? Buffer.alloc(0);
    expectSame(row, body);
    return this.commitIf((tx) => this.relocate(tx, row, 'inline', bytes));
  }

  private async moveTo(to: StoreLocation, row: Row): Promise<boolean> {
    const copy = { location: to, workspaceId: row.workspaceId, id: row.id };
    if (!(await this.orphanedCopies.announce(copy))) return false;
    let written: Written = 'nothing';
    let isMoved = false;
    try {
      const store = await this.stores.at(to);
      if (!(await this.isThere(row, store))) {
        const source = await this.read(row);
        written = 'some';
        await this.copy(row, source, store);
      }
      isMoved = await this.commitIf(
        async (tx) => (await this.orphanedCopies.adopt(tx, copy)) && (await this.relocate(tx, row, to, null)),
      );
      return isMoved;
    } catch (error) {
      if (error instanceof OutcomeUnknown) written = 'perhaps more';
      throw error;
    } finally {
      // After a commit without an answer, the copy may no longer be recorded; then this does nothing.
      if (!isMoved) await this.orphanedCopies.giveUp(copy, written);
    }
  }

  /**
   * Whether a store already has the blob.
   * @throws when its bytes would be overwritten with bytes that are also damaged
   */
  private async isThere(row: Row, store: BlobStore): Promise<boolean> {
    const found = await store.sizeOf(blobKey(row.workspaceId, row.id));
    if (found === undefined) return false;
    if (found === row.size && (await hasWhole(store, row))) return true;
    expectSame(row, await HashedBody.readThrough(await this.read(row)));
    return false;
  }

  private async copy(row: Row, source: AsyncIterable<Buffer>, store: BlobStore): Promise<void> {
    const key = blobKey(row.workspaceId, row.id);
    const sent = new HashedBody(source);
    await store.put(key, sent);
    expectSame(row, sent);
    expectSame(row, await HashedBody.readThrough(await store.read(key, row.size)));
  }

  private async read({ workspaceId, id, location, size }: Row): Promise<AsyncIterable<Buffer>> {
    if (location !== 'inline') return (await this.stores.at(location)).read(blobKey(workspaceId, id), size);
    const row = await this.blobs.findOne({
      select: { bytes: true },
      where: { workspaceId, id, location: 'inline' },
    });
    return Readable.from(row ? [row.bytes] : []);
  }

  /**
   * Runs `work` in a transaction, and rolls it back if `work` returns false.
   * @returns the result of `work`
   */
  private async commitIf(work: (tx: Tx) => Promise<boolean>): Promise<boolean> {
    try {
      await this.database.transaction(async (tx) => {
        if (!(await work(tx))) throw new ChangedMeanwhile();
      });
      return true;
    } catch (error) {
      if (error instanceof ChangedMeanwhile) return false;
      throw error;
    }
  }

  private async relocate(tx: Tx, row: Row, to: BlobLocation, bytes: Buffer | null): Promise<boolean> {
    if (!(await pointTo(tx, row, to, bytes))) return false;
    const { workspaceId, id, location } = row;
    if (location !== 'inline') await this.orphanedCopies.leave(tx, { location, workspaceId, id });
    return true;
  }
}

/** Another process has changed the blob in the meantime; causes a rollback. */
class ChangedMeanwhile extends Error {}

/** Returns false if the blob is no longer the one that was copied. */
async function pointTo(
  tx: Tx,
  { workspaceId, id, location }: Place,
  to: BlobLocation,
  bytes: Buffer | null,
): Promise<boolean> {
  const { affected } = await tx.manager
    .getRepository(BlobEntity)
    .update({ workspaceId, id, location, state: 'live' }, { location: to, bytes });
  return affected === 1;
}

function expectSame(row: Row, body: HashedBody): void {
  if (body.is(row)) return;
  throw new Error(`the bytes of ${blobKey(row.workspaceId, row.id)} do not match its row`);
}
