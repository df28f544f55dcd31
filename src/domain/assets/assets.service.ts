import { Injectable } from '@nestjs/common';
import { type BlobLocation, type BlobReference, BlobUpkeep } from '../../platform/storage/index.js';
import { Clock } from '../../platform/clock.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Conflict, NotFound } from '../../platform/http/index.js';
import { Log, requestScope } from '../../platform/log.js';
import { ASSETS, lockWorkspaceRow } from '../workspaces/index.js';
import { Asset, lockWorkspace } from './asset-uploads.js';
import { assetStatements } from './assets.queries.js';
import { release } from './storage-quota.js';

const PAGE = 1000;
const PURGE_BATCH = 1000;

/** Sorts before the newest asset in the list. */
const TOP = { uploadedAt: 'infinity', revision: Number.MAX_SAFE_INTEGER };

export type ListedAsset = Readonly<Omit<Asset, 'workspaceId' | 'blobId'>>;

interface Removed extends Pick<ListedAsset, 'token' | 'size'> {
  readonly location: BlobLocation;
}

/** The assets of a workspace; `AssetUploads` creates them. */
@Injectable()
export class Assets {
  private sweeping: Promise<unknown> | undefined;

  constructor(
    private readonly database: Database,
    private readonly blobs: BlobUpkeep,
    private readonly clock: Clock,
    private readonly bus: EventBus,
    private readonly log: Log,
  ) {}

  /** Lists newest first, page by page. Each page is consistent, the whole list is not. @throws NotFound, also mid-stream */
  async *list(workspaceId: string): AsyncGenerator<ListedAsset[], void> {
    for (let after: ListedAsset | typeof TOP | undefined = TOP; after !== undefined;) {
      const values = [workspaceId, after.uploadedAt, after.revision, PAGE];
      const rows: (ListedAsset | { token: null })[] = await this.database.run(assetStatements.page, values);
      if (rows.length === 0) throw new NotFound('workspace not found');
      const page = rows.filter((row) => row.token !== null);
      yield page;
      after = page[PAGE - 1];
    }
  }

  /** The location of an asset's bytes. @throws NotFound */
  async envelope(workspaceId: string, token: string): Promise<BlobReference> {
    const [blob] = await this.database.run<BlobReference>(assetStatements.envelope, [workspaceId, token]);
    if (!blob) throw new NotFound('asset not found');
    return blob;
  }

  /** Blob, size, time and accounting stay the same; a rename to the same token does nothing. @throws NotFound, Conflict */
  async rename(workspaceId: string, token: string, newToken: string): Promise<void> {
    await this.database.workspaceTransaction(workspaceId, async (tx) => {
      await lockWorkspace(tx, workspaceId);
      const present = await tx.run<{ token: string }>(assetStatements.present, [
        workspaceId,
        [token, newToken],
      ]);
      if (!present.some((asset) => asset.token === token)) throw new NotFound('asset not found');
      if (token === newToken) return;
      if (present.length > 1) throw new Conflict('an asset with the new token already exists');
      await tx.run(assetStatements.rename, [workspaceId, token, newToken]);
    });
    if (token !== newToken) this.announce(workspaceId);
  }

  /** Removes the existing assets among the tokens and returns their tokens; the blob store objects are removed afterwards. */
  async delete(workspaceId: string, tokens: readonly string[]): Promise<Set<string>> {
    if (tokens.length === 0) return new Set();
    const removed = await this.database.sharedTransaction(
      async (tx) => this.remove(tx, workspaceId, await lockWorkspace(tx, workspaceId), tokens),
      workspaceId,
    );
    if (removed.length > 0) this.announce(workspaceId);
    if (removed.some(({ location }) => location !== 'inline')) this.sweepSoon();
    return new Set(removed.map(({ token }) => token));
  }

  /** Removes up to one batch of a deleted workspace's assets and releases their quota. Returns the number removed. */
  async purge(workspaceId: string): Promise<number> {
    return this.database.sharedTransaction(async (tx) => {
      const workspace = await lockWorkspaceRow(tx, workspaceId);
      if (!workspace) return 0;
      const some = await tx.manager
        .getRepository(Asset)
        .find({ select: { token: true }, where: { workspaceId }, take: PURGE_BATCH });
      const tokens = some.map(({ token }) => token);
      return (await this.remove(tx, workspaceId, workspace.userId, tokens)).length;
    }, workspaceId);
  }

  private async remove(
    tx: Tx,
    workspaceId: string,
    /** Null when the account is gone: no quota is released then. */
    ownerId: string | null,
    tokens: readonly string[],
  ): Promise<Removed[]> {
    const values = [workspaceId, tokens, this.clock.now()];
    const removed = await tx.run<Removed>(assetStatements.remove, values);
    const bytes = removed.reduce((sum, { size }) => sum + size, 0);
    if (ownerId !== null && bytes > 0) await release(tx, ownerId, bytes);
    return removed;
  }

  private announce(workspaceId: string): void {
    this.bus.publish({ topic: ASSETS, key: workspaceId });
  }

  /** Not awaited. A blob marked for deletion during a sweep may stay until the next one. */
  private sweepSoon(): void {
    this.sweeping ??= requestScope
      .exit(() => this.log.bestEffort('remove the objects of deleted assets', () => this.blobs.sweepBlobs()))
      .finally(() => (this.sweeping = undefined));
  }
}
