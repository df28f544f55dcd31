import { Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import { Configuration } from '../config/index.js';
import { BEFORE_ALL_IDS, Database, type Tx } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';
import {
  blobKey,
  type BlobLocation,
  type BlobStore,
  OutcomeUnknown,
  type StoreLocation,
} from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { type Described, HashedBody, hasWhole } from './hashed-body.js';
import { OrphanedCopies, type Written } from './orphaned-copies.js';
import { moveStatements } from './move.queries.js';

const PAGE = 500;
const AT_ONCE = 4;

/** What a move has done. */
export interface Moved {
  readonly moved: number;
  /** Were deleted meanwhile, or another move is at them, or an earlier copy must go first: for the next run. */
  readonly skipped: number;
  /** Their bytes are missing or damaged, or a store does not do its work; the log says which. */
  readonly failed: number;
}

interface Row extends Described {
  readonly location: BlobLocation;
  readonly isDue: boolean;
}

type Outcome = keyof Moved;

/**
 * Moves blobs between the rows, the disk and S3 while the service runs. Each on its own: the copy is written down,
 * made, read back and hashed; then one transaction makes the row name it. Until then the old bytes are the ones, and
 * after it they stay for a grace, for downloads that have read the row before. A run that ends half-way is taken up
 * by the next one.
 *
 * Danger: what is at the target may be the only bytes there are, as after a database was put back from before a move.
 * Whole, they are never written over, nor marked for deletion by a move that did not write them.
 */
@Injectable()
export class BlobMover {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly orphanedCopies: OrphanedCopies,
    private readonly log: Log,
  ) {}

  /** Every live blob that belongs there. @throws StoreUnavailable when that store cannot be opened */
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
   * Makes a row name bytes of it that are in another store already. False when it has changed meanwhile, or those bytes are just
   * being swept.
   */
  pointTo(
    to: StoreLocation,
    { workspaceId, id, location }: Pick<Row, 'workspaceId' | 'id' | 'location'>,
  ): Promise<boolean> {
    return this.commitIf(async (tx) => {
      if (!(await this.orphanedCopies.reclaim(tx, { location: to, workspaceId, id }))) return false;
      return (await tx.run(moveStatements.relocate, [workspaceId, id, location, to, null])).length > 0;
    });
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
      // After a commit whose answer was lost there may be no such copy any more: then this does nothing.
      if (!isMoved) await this.orphanedCopies.giveUp(copy, written);
    }
  }

  /** Whether a store has the blob already. @throws when what it has would be written over with bytes that are no better */
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
    const [row] = await this.database.run<{ bytes: Buffer }>(moveStatements.bytes, [workspaceId, id]);
    return Readable.from(row ? [row.bytes] : []);
  }

  /** Runs `work` in a transaction, which is rolled back when it answers false. @returns its answer */
  private async commitIf(work: (tx: Tx) => Promise<boolean>): Promise<boolean> {
    try {
      await this.database.transaction(async (tx) => {
        if (!(await work(tx))) throw new Overtaken();
      });
      return true;
    } catch (error) {
      if (error instanceof Overtaken) return false;
      throw error;
    }
  }

  private async relocate(tx: Tx, row: Row, to: BlobLocation, bytes: Buffer | null): Promise<boolean> {
    const { workspaceId, id, location } = row;
    const changed = await tx.run(moveStatements.relocate, [workspaceId, id, location, to, bytes]);
    if (changed.length === 0) return false;
    if (location !== 'inline') await this.orphanedCopies.leave(tx, { location, workspaceId, id });
    return true;
  }
}

/** Somebody else has changed the blob meanwhile; rolls back. */
class Overtaken extends Error {}

function expectSame(row: Row, body: HashedBody): void {
  if (body.is(row)) return;
  throw new Error(`the bytes of ${blobKey(row.workspaceId, row.id)} are not those of its row`);
}
