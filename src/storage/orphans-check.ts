import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { blobKey, type BlobLocation, type BlobStore, idsIn, type StoredObject } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { STAGED_FOR_MS } from './blob-sweeper.js';
import { doctorStatements } from './doctor.queries.js';
import { hasWhole } from './hashed-body.js';
import { OrphanedCopies, type OrphanedCopy } from './orphaned-copies.js';

interface Known {
  readonly workspaceId: string;
  readonly id: string;
  /** Of its row; null without one. */
  readonly location: BlobLocation | null;
  readonly size: number | null;
  readonly sha256: string | null;
  readonly isLeftover: boolean;
}

/** Looks whether all that lies in the stores is known: named by a row, whatever its state, or waiting to be removed. */
@Injectable()
export class OrphansCheck {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly orphanedCopies: OrphanedCopies,
  ) {}

  /**
   * With `fix` the bytes are removed. Danger: since they were looked up, a move may have taken them for its copy. They
   * are therefore never deleted here, but written down as what a move leaves is, and swept as that is.
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
        problem: `The ${store.location} store has bytes that no row names.`,
        cure: 'Run `doctor --fix`: it removes them. After the database was put back from a backup, they are what was uploaded since.',
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
      // The listing may be older than the removal of both bytes and row.
      if ((await store.sizeOf(blobKey(workspaceId, id))) === undefined) continue;
      orphans.push({ location: store.location, workspaceId, id });
    }
    return orphans;
  }

  /** Returns those that are orphans still. */
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

  /** Bytes that a row names in another place are superfluous only when they are whole there: these may be the good ones. */
  private async isNamed(known: Known, store: BlobStore): Promise<boolean> {
    const { location, size, sha256, isLeftover } = known;
    if (isLeftover || location === store.location) return true;
    if (location === null || location === 'inline') return false;
    if (size === null || sha256 === null) return true;
    return !(await hasWhole(await this.stores.at(location), { ...known, size, sha256 }));
  }
}
