import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';
import type { Examination, Finding } from '../doctor/index.js';
import { blobKey, type BlobLocation, type BlobStore, idsIn, type StoredObject } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { STAGED_FOR_MS } from './blob-sweeper.js';
import { doctorStatements } from './blobs.queries.js';
import { hasWhole } from './hashed-body.js';
import { OrphanedCopies, type OrphanedCopy } from './orphaned-copies.js';

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
   * deleted directly, but recorded like the leftovers of a move, and swept like those.
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

  /** Bytes that a row refers to at another location are only redundant if they are complete there: these may be the good ones. */
  private async isNamed(known: Known, store: BlobStore): Promise<boolean> {
    const { location, size, sha256, isLeftover } = known;
    if (isLeftover || location === store.location) return true;
    if (location === null || location === 'inline') return false;
    if (size === null || sha256 === null) return true;
    return !(await hasWhole(await this.stores.at(location), { ...known, size, sha256 }));
  }
}
