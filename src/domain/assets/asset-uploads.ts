import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, In, PrimaryColumn, type Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import {
  Database,
  isUnanswered,
  removeInBatches,
  type Tx,
  type WorkspaceTx,
} from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Conflict, NotFound, ServiceUnavailable } from '../../platform/http/index.js';
import { NightlyJobs, TrustedTime } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log.js';
import { BlobEntity, Blobs, type StagedBlob } from '../../platform/storage/index.js';
import { ASSETS, lockWorkspaceRow } from '../workspaces/index.js';
import { assetStatements } from './assets.queries.js';
import { StorageQuota } from './storage-quota.js';
import type { UploadBody } from './upload-body.js';

/** An encrypted file beside the log of its workspace. */
@Entity('assets')
export class Asset {
  @PrimaryColumn('uuid')
  workspaceId: string;

  /** The encrypted name, which clients compute. */
  @PrimaryColumn('text')
  token: string;

  @Column('uuid')
  blobId: string;

  /** The size of the envelope, in bytes. */
  @Column('bigint')
  size: number;

  /** The workspace's count of asset commits at the time of the upload; orders uploads of the same millisecond. */
  @Column('bigint')
  revision: number;

  @Column('timestamptz')
  uploadedAt: Date;
}

/** The token that an `Idempotency-Key` was used for. */
@Entity('asset_idempotency_keys')
export class AssetIdempotencyKey {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('text')
  key: string;

  @Column('text')
  token: string;

  @Column('timestamptz')
  createdAt: Date;
}

const WINDOW_MS = 24 * 60 * 60_000;
const FORGET_EVERY_MS = 10 * 60_000;
const BATCH = 1000;

/** A key first used at or before this time counts as unused. */
export function oldestValidKey(now: Date): Date {
  return new Date(now.getTime() - WINDOW_MS);
}

/** Removes keys of uploads that can no longer be repeated. */
@Injectable()
export class IdempotencyKeys {
  constructor(
    private readonly database: Database,
    private readonly time: TrustedTime,
    private readonly log: Log,
    @InjectRepository(AssetIdempotencyKey) private readonly keys: Repository<AssetIdempotencyKey>,
    jobs: NightlyJobs,
  ) {
    jobs.add('idempotency-keys', async (now, signal) => ({
      removed: await this.forgetExpiredKeys(now, signal),
    }));
  }

  @Interval(FORGET_EVERY_MS)
  async forgetNow(): Promise<void> {
    await this.log.bestEffort('remove expired idempotency keys', async () =>
      this.forgetExpiredKeys(await this.time.now()),
    );
  }

  /**
   * Works in bounded batches; may run on several instances at once. Returns the number of keys removed.
   * @param signal once aborted, the run ends after the current batch
   */
  async forgetExpiredKeys(now: Date, signal?: AbortSignal): Promise<number> {
    const values = [oldestValidKey(now), BATCH];
    let removed = 0;
    for (const part of await this.database.parts())
      removed += await removeInBatches(BATCH, () => part.run(assetStatements.forgetKeys, values), signal);
    return removed;
  }

  /** Removes up to one batch of a deleted workspace's keys. Returns the number removed. */
  async purge(workspaceId: string): Promise<number> {
    const some = await this.keys.find({ select: { key: true }, where: { workspaceId }, take: BATCH });
    if (some.length === 0) return 0;
    const { affected } = await this.keys.delete({ workspaceId, key: In(some.map(({ key }) => key)) });
    return affected ?? 0;
  }
}

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
      // The likely verdict: avoids storing the bytes of a repeated upload.
      const verdict =
        token === undefined ? 'new' : await verdictOn(this.database, upload, token, this.clock.now());
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

  private async commit(
    tx: Tx,
    upload: AssetUpload,
    { token, blob, allowance }: { token: string; blob: StagedBlob; allowance: number },
  ): Promise<Verdict> {
    const { workspaceId, idempotencyKey } = upload;
    const ownerId = await lockWorkspace(tx, workspaceId);
    const now = this.clock.now();
    const verdict = await verdictOn(tx, upload, token, now);
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
 * `assetStatements.create` in steps, for a node: the engine would compute an INSERT that depends on another part of the statement
 * on the coordinator, and query all nodes for it.
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
async function verdictOn(
  reader: Pick<Database, 'run'>,
  { workspaceId, idempotencyKey }: AssetUpload,
  token: string,
  now: Date,
): Promise<Verdict> {
  const values = [workspaceId, token, idempotencyKey, oldestValidKey(now)];
  const [state] = await reader.run<UploadState>(assetStatements.uploadState, values);
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
