import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { BEFORE_ALL_IDS, Database } from '../database/index.js';
import type { Examination, Finding } from '../doctor/index.js';
import { BlobEntity } from './blob.entity.js';
import { BlobMover } from './blob-mover.js';
import { blobKey, type StoreLocation } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { doctorStatements } from './blobs.queries.js';
import { type Described, hasWhole } from './hashed-body.js';

const PAGE = 1000;
const DEEP_PAGE = 100;

interface Row extends Described {
  readonly location: StoreLocation;
}

/** Checks that every live blob has its bytes: that they exist with the size in the row and, in a deep examination, their hash. */
@Injectable()
export class BytesCheck {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly mover: BlobMover,
    @InjectRepository(BlobEntity) private readonly blobs: Repository<BlobEntity>,
  ) {}

  /** With `fix`, a row whose complete bytes are in another store is pointed to that store. */
  async *stored(examination: Examination): AsyncGenerator<Finding> {
    const listings = new Listings(this.stores);
    for await (const rows of this.pages<Row>(doctorStatements.stored, PAGE)) {
      for (const row of rows) {
        const listed = (await listings.of(row)).get(blobKey(row.workspaceId, row.id));
        const problem = await this.problemOf(row, listed, examination.isDeep);
        if (problem && (await this.isStill(row))) yield await this.finding(row, problem, examination.fix);
      }
    }
  }

  /** Only in a deep examination. */
  async *inline({ isDeep }: Examination): AsyncGenerator<Finding> {
    if (!isDeep) return;
    for await (const rows of this.pages<Row & { isDamaged: boolean }>(
      doctorStatements.inlinePage,
      DEEP_PAGE,
    )) {
      for (const row of rows)
        if (row.isDamaged) yield damaged(row, 'The bytes in its row do not match its size or hash.');
    }
  }

  private async problemOf(
    row: Row,
    listed: number | undefined,
    isDeep: boolean,
  ): Promise<string | undefined> {
    const store = await this.stores.at(row.location);
    // The listing may be older than the row.
    const size = listed === row.size ? listed : await store.sizeOf(blobKey(row.workspaceId, row.id));
    if (size === undefined) return `It has no bytes in the ${row.location} store.`;
    if (size !== row.size) return `It has ${size} bytes instead of ${row.size} in the ${row.location} store.`;
    if (!isDeep || (await hasWhole(store, row))) return undefined;
    return `Its bytes in the ${row.location} store have a different hash.`;
  }

  private async finding(row: Row, problem: string, fix: boolean): Promise<Finding> {
    const elsewhere = await this.findElsewhere(row);
    if (elsewhere === undefined) return damaged(row, problem);
    const isFixed = fix && (await this.mover.pointTo(elsewhere, row));
    return {
      fault: 'bytes elsewhere',
      subject: blobKey(row.workspaceId, row.id),
      problem: `${problem} They are complete in the ${elsewhere} store.`,
      cure: 'Run `doctor --fix`: it points the row to that store.',
      isFixed,
    };
  }

  /** For example after a database was restored to a state before a move. */
  private async findElsewhere(row: Row): Promise<StoreLocation | undefined> {
    for (const store of await this.stores.all())
      if (store.location !== row.location && (await hasWhole(store, row))) return store.location;
    return undefined;
  }

  /** The blob may have been deleted or moved since it was read. */
  private isStill({ workspaceId, id, location }: Row): Promise<boolean> {
    return this.blobs.existsBy({ workspaceId, id, location, state: 'live' });
  }

  private async *pages<R extends { workspaceId: string; id: string }>(
    statement: Parameters<Database['run']>[0],
    size: number,
  ): AsyncGenerator<R[]> {
    let [workspaceId, id] = [BEFORE_ALL_IDS, BEFORE_ALL_IDS];
    for (;;) {
      const rows = await this.database.run<R>(statement, [workspaceId, id, size]);
      yield rows;
      const last = rows[size - 1];
      if (!last) return;
      ({ workspaceId, id } = last);
    }
  }
}

/** The sizes that a store lists for a workspace, fetched once for consecutive rows of the same workspace. */
class Listings {
  private readonly latest = new Map<StoreLocation, { workspaceId: string; sizes: Map<string, number> }>();

  constructor(private readonly stores: BlobStores) {}

  async of({ workspaceId, location }: Row): Promise<Map<string, number>> {
    const known = this.latest.get(location);
    if (known?.workspaceId === workspaceId) return known.sizes;
    const sizes = new Map<string, number>();
    const store = await this.stores.at(location);
    for await (const page of store.list(workspaceId)) for (const { key, size } of page) sizes.set(key, size);
    this.latest.set(location, { workspaceId, sizes });
    return sizes;
  }
}

function damaged({ workspaceId, id }: Row, problem: string): Finding {
  return {
    fault: 'bytes missing or damaged',
    subject: blobKey(workspaceId, id),
    problem,
    cure: 'Restore its bytes from a backup of the store; without one, whatever refers to them is lost.',
    isFixed: false,
  };
}
