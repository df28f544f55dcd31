import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';
import type { Examination, Finding } from '../doctor/index.js';
import { type BlobLocation, type BlobStore, idsIn, type StoredObject } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { STAGED_FOR_MS } from './blob-sweeper.js';
import { doctorStatements } from './doctor.queries.js';

interface Known {
  readonly workspaceId: string;
  readonly id: string;
  /** Of its row; null without one. */
  readonly location: BlobLocation | null;
  readonly size: number | null;
  readonly isLeftover: boolean;
}

/** Looks whether all that lies in the stores is known: named by a row, whatever its state, or waiting to be removed. */
@Injectable()
export class OrphansCheck {
  constructor(
    private readonly database: Database,
    private readonly stores: BlobStores,
  ) {}

  /** With `fix` the bytes are removed. */
  async *orphans(examination: Examination): AsyncGenerator<Finding> {
    for (const store of await this.stores.opened())
      for await (const page of store.list()) yield* this.amongst(page, store, examination);
  }

  private async *amongst(
    page: StoredObject[],
    store: BlobStore,
    { now, fix }: Examination,
  ): AsyncGenerator<Finding> {
    const old = page.filter(({ modifiedAt }) => now.getTime() - modifiedAt.getTime() > STAGED_FOR_MS);
    for (const known of await this.known(old, store)) {
      if (await this.isNamed(known, store)) continue;
      const key = `${known.workspaceId}/${known.id}`;
      // The listing may be older than the removal of both bytes and row.
      if ((await store.sizeOf(key)) === undefined) continue;
      if (fix) await store.delete(key);
      yield {
        fault: 'orphan',
        subject: key,
        problem: `The ${store.location} store has bytes that no row names.`,
        cure: 'Run `doctor --fix`: it removes them. After the database was put back from a backup, they are what was uploaded since.',
        isFixed: fix,
      };
    }
  }

  private async known(objects: StoredObject[], store: BlobStore): Promise<Known[]> {
    const ids = objects.flatMap(({ key }) => idsIn(key) ?? []);
    if (ids.length === 0) return [];
    const columns = [ids.map(({ workspaceId }) => workspaceId), ids.map(({ id }) => id)];
    return this.database.run<Known>(doctorStatements.known, [...columns, store.location]);
  }

  /** Bytes that a row names in another place are superfluous only when they are there. */
  private async isNamed(
    { workspaceId, id, location, size, isLeftover }: Known,
    store: BlobStore,
  ): Promise<boolean> {
    if (isLeftover || location === store.location) return true;
    if (location === null || location === 'inline') return false;
    return (await (await this.stores.at(location)).sizeOf(`${workspaceId}/${id}`)) !== size;
  }
}
