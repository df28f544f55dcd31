import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database } from '../platform/database/index.js';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { BlobMover } from './blob-mover.js';
import { blobKey, type StoreLocation } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { doctorStatements } from './doctor.queries.js';
import { type Described, hasWhole } from './hashed-body.js';

const PAGE = 1000;
const DEEP_PAGE = 100;

interface Row extends Described {
  readonly location: StoreLocation;
}

/** Looks whether every live blob has its bytes: that they are there and as many as the row says; deep, their hash. */
@Injectable()
export class BytesCheck {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly mover: BlobMover,
  ) {}

  /** With `fix`, a row whose bytes are whole in another store is made to name that one. */
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

  /** Only when it is deep. */
  async *inline({ isDeep }: Examination): AsyncGenerator<Finding> {
    if (!isDeep) return;
    for await (const rows of this.pages<Row & { isDamaged: boolean }>(
      doctorStatements.inlinePage,
      DEEP_PAGE,
    )) {
      for (const row of rows)
        if (row.isDamaged) yield damaged(row, 'The bytes in its row are others than the row says.');
    }
  }

  private async problemOf(
    row: Row,
    listed: number | undefined,
    isDeep: boolean,
  ): Promise<string | undefined> {
    const store = await this.stores.at(row.location);
    // A listing may be older than the row.
    const size = listed === row.size ? listed : await store.sizeOf(blobKey(row.workspaceId, row.id));
    if (size === undefined) return `It has no bytes in the ${row.location} store.`;
    if (size !== row.size) return `It has ${size} bytes instead of ${row.size} in the ${row.location} store.`;
    if (!isDeep || (await hasWhole(store, row))) return undefined;
    return `Its bytes in the ${row.location} store have another hash.`;
  }

  private async finding(row: Row, problem: string, fix: boolean): Promise<Finding> {
    const elsewhere = await this.findElsewhere(row);
    if (elsewhere === undefined) return damaged(row, problem);
    const isFixed = fix && (await this.mover.pointTo(elsewhere, row));
    return {
      fault: 'bytes elsewhere',
      subject: blobKey(row.workspaceId, row.id),
      problem: `${problem} They are whole in the ${elsewhere} store.`,
      cure: 'Run `doctor --fix`: it makes the row name that store.',
      isFixed,
    };
  }

  /** As after a database was put back from before a move. */
  private async findElsewhere(row: Row): Promise<StoreLocation | undefined> {
    for (const store of await this.stores.all())
      if (store.location !== row.location && (await hasWhole(store, row))) return store.location;
    return undefined;
  }

  /** It may have been deleted or moved since it was read. */
  private async isStill({ workspaceId, id, location }: Row): Promise<boolean> {
    return (await this.database.run(doctorStatements.isStill, [workspaceId, id, location])).length > 0;
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

/** The sizes that a store lists for a workspace, fetched once for all the rows of it that follow each other. */
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
    cure: 'Put its bytes back from a backup of the store; without one, what refers to them is lost.',
    isFixed: false,
  };
}
