import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { access, constants, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from 'typeorm';
import { shared } from '../async.js';
import { Configuration, OperatorError } from '../config/index.js';
import { BEFORE_ALL_IDS, Database } from '../database/index.js';
import type { Examination, Finding } from '../doctor.js';
import { Metrics } from '../metrics.js';
import { BlobMover } from './blob-mover.js';
import { blobKey, BlobStores, type StoreLocation } from './blob-store.js';
import { doctorStatements } from './blobs.queries.js';
import { diskSpace } from './free-space.js';
import { type Described, hasWhole } from './hashed-body.js';
import { STORE_ID } from './registered-stores.js';
import { BlobEntity } from './storage.entities.js';

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

  /** Finds a complete copy, for example after a database was restored to a state before a move. */
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

const { R_OK, W_OK, X_OK } = constants;

/** The access rights required for a workspace's directory, a directory in it, and a blob. */
const RIGHTS = [R_OK | W_OK | X_OK, R_OK | W_OK | X_OK, R_OK];

/** Number of entries checked in each directory, and of those entered: a start must be fast, and there may be millions. */
const LOOKED_AT = 500;
const ENTERED = 8;

const OURS = /^[0-9a-f-]{2,36}$/; // excludes lost+found

/**
 * Without this check, the service would become ready and answer 503 forever after another user has created files there.
 * @param directory the directory of the store
 * @throws OperatorError when this user cannot use something in it
 */
export async function expectUsable(directory: string): Promise<void> {
  const path = await findUnusable(directory);
  if (path === undefined) return;
  const { uid } = await stat(path).catch(() => ({ uid: 'unknown' }));
  throw new OperatorError(
    `${path} cannot be used by this user (its owner has the id ${uid}); give all of ${directory} to the user who runs the service (chown -R), and start again.`,
  );
}

/**
 * Finds a blob or a directory of blobs that this user cannot use, as left behind by a run or a copy by another user; undefined if
 * there is none among the entries checked.
 * @param depth of the entries: 0 for those in the store's root
 */
async function findUnusable(directory: string, depth = 0): Promise<string | undefined> {
  const entries = await firstOf(directory);
  const rights = RIGHTS[depth] ?? R_OK;
  for (const path of entries) if (await isDenied(path, rights)) return path;
  if (depth + 1 === RIGHTS.length) return undefined;
  for (const path of entries.slice(0, ENTERED)) {
    const found = await findUnusable(path, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function firstOf(directory: string): Promise<string[]> {
  const entries: string[] = [];
  const open = await opendir(directory).catch(() => undefined); // deleted, or not a directory
  for await (const { name } of open ?? []) {
    if (OURS.test(name)) entries.push(join(directory, name));
    if (entries.length === LOOKED_AT) break;
  }
  return entries;
}

async function isDenied(path: string, rights: number): Promise<boolean> {
  try {
    await access(path, rights);
    return false;
  } catch (error) {
    return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''); // it may have been deleted in the meantime
  }
}

const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Checks that the store for new blobs works. */
@Injectable()
export class StoreCheck {
  /**
   * Concurrent callers share one check; it may take as long as the store does.
   * @throws when bytes could not be stored
   */
  readonly look = shared(() => this.lookNow());

  constructor(
    private readonly configuration: Configuration,
    private readonly stores: BlobStores,
    metrics: Metrics,
  ) {
    metrics.gauge('cloud_sync_data_dir_free_bytes', 'Free space on the disk of DATA_DIR', [], async () => {
      const { free } = await diskSpace(configuration.dataDir);
      return free === undefined ? [] : [{ value: free }];
    });
  }

  private async lookNow(): Promise<void> {
    await this.stores.main.sizeOf(blobKey(NOBODY, NOBODY)); // throws if the disk store's directory is not its own
    if (this.stores.main.location !== 'disk') return;
    const directory = join(this.configuration.dataDir, 'blobs');
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    await access(join(directory, STORE_ID), constants.R_OK);
    if ((await diskSpace(directory)).free === 0) throw new Error('the disk of the blobs is full');
  }
}
