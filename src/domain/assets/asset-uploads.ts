import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/index.js';
import { Database, isUnanswered, type Tx, type WorkspaceTx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Conflict, NotFound, ServiceUnavailable } from '../../platform/http/index.js';
import { BlobEntity, Blobs, type StagedBlob } from '../../platform/storage/index.js';
import { ASSETS, lockWorkspaceRow } from '../workspaces/index.js';
import { Asset } from './asset.entity.js';
import { AssetIdempotencyKey } from './asset-idempotency-key.entity.js';
import { assetStatements } from './assets.queries.js';
import { oldestValidKey } from './idempotency-keys.js';
import { StorageQuota } from './storage-quota.js';
import type { UploadBody } from './upload-body.js';

/**
 * Locks a workspace until the transaction ends, using the same row that writers of its log lock. Every writer of its
 * assets locks the workspace first and the account second. So writers are serialized, none deadlocks with another,
 * and none revives a deleted workspace.
 * @returns the id of the user whose quota the assets count towards
 * @throws NotFound when the workspace has been deleted
 */
export async function lockWorkspace(tx: WorkspaceTx, workspaceId: string): Promise<string> {
  const workspace = await lockWorkspaceRow(tx, workspaceId);
  if (!workspace || workspace.isDeleted || workspace.userId === null)
    throw new NotFound('workspace not found');
  return workspace.userId;
}

/**
 * Locks a workspace, deleted or not: only the purge may work on a deleted workspace. Null means that its account is
 * gone, undefined that its row is gone.
 */
export async function lockWorkspaceForPurge(tx: Tx, workspaceId: string): Promise<string | null | undefined> {
  return (await lockWorkspaceRow(tx, workspaceId))?.userId;
}

/** An upload without its bytes. */
export interface AssetUpload {
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly idempotencyKey: string | null;
}

interface UploadState {
  readonly tokenOfKey: string | null;
  readonly isTaken: boolean;
}

type Verdict = 'new' | 'replay' | 'other token' | 'taken';

/** Creates assets: bytes first, then blob, row, quota and key in one transaction. */
@Injectable()
export class AssetUploads {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
    private readonly quota: StorageQuota,
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /**
   * Stores an asset and returns its token; a repeated upload returns the same token and changes nothing.
   * @throws BadRequest, Conflict (asset rule 3), InsufficientStorage, NotFound when the workspace has been deleted
   */
  async upload(upload: AssetUpload, body: UploadBody): Promise<string> {
    try {
      const token = await body.open();
      const verdict = token === undefined ? 'new' : await this.foresee(upload, token);
      if (verdict === 'new') return await this.create(upload, body);
      // Nothing is stored, but errors in the body still take precedence over a conflict of the token.
      await body.skip();
      return settled(verdict, body.encryptedFilename());
    } finally {
      body.close();
    }
  }

  private async create(upload: AssetUpload, body: UploadBody): Promise<string> {
    const blob = await this.blobs.stage(upload.workspaceId, body.envelope());
    const token = body.encryptedFilename();
    let verdict: Verdict;
    try {
      const allowance = await this.quota.allowance(upload.ownerId);
      verdict = await this.database.sharedTransaction(
        (tx) => this.commit(tx, upload, { token, blob, allowance }),
        upload.workspaceId,
      );
    } catch (error) {
      // If the database does not respond, do not make the client wait a second time: the sweeper removes the blob.
      if (!isUnanswered(error)) await this.blobs.discard(blob);
      throw error;
    }
    if (verdict === 'new') this.bus.publish({ topic: ASSETS, key: upload.workspaceId });
    else await this.blobs.discard(blob);
    return settled(verdict, token);
  }

  /** The likely verdict: avoids storing the bytes of a repeated upload. */
  private async foresee({ workspaceId, idempotencyKey }: AssetUpload, token: string): Promise<Verdict> {
    const values = [workspaceId, token, idempotencyKey, oldestValidKey(this.clock.now())];
    const [state] = await this.database.run<UploadState>(assetStatements.uploadState, values);
    return judge(state, token);
  }

  private async commit(
    tx: Tx,
    { workspaceId, idempotencyKey }: AssetUpload,
    { token, blob, allowance }: { token: string; blob: StagedBlob; allowance: number },
  ): Promise<Verdict> {
    const ownerId = await lockWorkspace(tx, workspaceId);
    const now = this.clock.now();
    const values = [workspaceId, token, idempotencyKey, oldestValidKey(now)];
    const [state] = await tx.run<UploadState>(assetStatements.uploadState, values);
    const verdict = judge(state, token);
    if (verdict !== 'new') return verdict;

    await this.quota.reserve(tx, ownerId, blob.size, allowance);
    const created = await this.insert(tx, [
      workspaceId,
      token,
      idempotencyKey,
      blob.id,
      blob.size,
      blob.sha256,
      blob.bytes,
      now,
    ]);
    if (!created) throw new ServiceUnavailable('the upload took too long');
    return 'new';
  }

  /** Returns false when the sweeper has removed the staged row. */
  private async insert(tx: Tx, asset: NewAsset): Promise<boolean> {
    if (!this.database.isDistributed) return (await tx.run(assetStatements.create, asset)).length > 0;
    return insertInSteps(tx, asset);
  }
}

/** The values of `assetStatements.create`. */
type NewAsset = [string, string, string | null, string, number, string, Buffer | null, Date];

/**
 * As `assetStatements.create`, for a node: the engine would compute an INSERT from another part of a statement on the coordinator,
 * and ask all nodes for it.
 */
async function insertInSteps(tx: Tx, asset: NewAsset): Promise<boolean> {
  const [workspaceId, token, key, blobId, size, sha256, bytes, now] = asset;
  const { manager } = tx;
  const blobs = manager.getRepository(BlobEntity);
  const blob = { workspaceId, id: blobId };
  const stored = { state: 'live', size, sha256 } as const;
  if (bytes) await blobs.insert({ ...blob, ...stored, location: 'inline', bytes, createdAt: now });
  else if ((await blobs.update({ ...blob, state: 'staged' }, stored)).affected !== 1) return false;
  const [revised] = await tx.run<{ revision: number }>(assetStatements.reviseOnNode, [workspaceId]);
  if (!revised) throw new Error('the workspace was not locked');
  if (key !== null) {
    const used = { workspaceId, key, token, createdAt: now };
    await manager.getRepository(AssetIdempotencyKey).upsert(used, ['workspaceId', 'key']);
  }
  const { revision } = revised;
  await manager.getRepository(Asset).insert({ workspaceId, token, blobId, size, revision, uploadedAt: now });
  return true;
}

/** Asset rule 3. The key is checked first, because a repeated upload finds its own token taken. */
function judge(state: UploadState | undefined, token: string): Verdict {
  if (state?.tokenOfKey === token) return 'replay';
  if (typeof state?.tokenOfKey === 'string') return 'other token';
  return state?.isTaken ? 'taken' : 'new';
}

/** @throws Conflict */
function settled(verdict: Verdict, token: string): string {
  if (verdict === 'taken') throw new Conflict('an asset with this token already exists');
  if (verdict === 'other token')
    throw new Conflict('the Idempotency-Key has already been used for another token');
  return token;
}
