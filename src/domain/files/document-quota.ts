import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { Subscriptions } from '../billing/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Database, isUnanswered } from '../../platform/database/index.js';
import { InsufficientStorage } from '../../platform/http/index.js';
import { type Counter, Metrics } from '../../platform/metrics.js';
import { WorkspaceEntity } from '../workspaces/index.js';
import type { Precondition } from './file-headers.js';
import { fileStatements, usageStatements } from './files.queries.js';

/** Lifetime of the usage that other nodes reported, and the number of workspaces for which it is cached. */
const KEPT_MS = 5_000;
const MAX_KEPT = 10_000;

/** Usage of one workspace: the bytes of its kept versions. */
export interface WorkspaceUsage {
  readonly id: string;
  /** Bytes of the blobs of those versions, each blob counted once. */
  readonly usedBytes: number;
  /** Live files only. */
  readonly files: number;
}

export interface DocumentUsage {
  /** The sum over all workspaces of the account. */
  readonly usedBytes: number;
  /** 0 means unlimited. */
  readonly quotaBytes: number;
  readonly workspaces: readonly WorkspaceUsage[];
}

type Used = Omit<DocumentUsage, 'quotaBytes'>;

/** An upload whose body has not been read yet. */
export interface ForeseenUpload {
  readonly workspaceId: string;
  readonly encryptedPath: string;
  /** SHA-256 of the body as claimed by the client. */
  readonly contentHash: string;
  readonly precondition: Precondition;
}

interface Foreseen {
  /** Whether the usage counts all workspaces of the owner. */
  readonly isWhole: boolean;
  readonly usedBytes: number;
  readonly liveHash: string | null;
}

/**
 * The quota for the kept versions of all workspaces of an account. The statement that writes an upload decides, under
 * the lock of its workspace. It sees the account's other workspaces as committed when the statement starts, so
 * concurrent uploads to several workspaces may overshoot the quota by the bytes in flight.
 */
@Injectable()
export class DocumentQuota {
  private readonly refusals: Counter;
  private readonly elsewhere = new Map<string, { bytes: number; until: number }>();

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
    metrics: Metrics,
    @InjectRepository(WorkspaceEntity) workspaces: Repository<WorkspaceEntity>,
  ) {
    const help = 'File uploads refused because the quota of the account is used up';
    this.refusals = metrics.counter('cloud_sync_document_quota_refusals_total', help);
    metrics.gauge(
      'cloud_sync_document_bytes',
      'Bytes of the kept versions of all workspaces',
      [],
      async () => {
        return [{ value: (await workspaces.sum('documentBytes', { deletedAt: IsNull() })) ?? 0 }];
      },
    );
  }

  /**
   * The quota for uploads in bytes; null means unlimited. Every route that accepts documents requires an active
   * subscription.
   */
  get ofUploads(): number | null {
    return this.configuration.documentQuotaProBytes || null;
  }

  /** Lists the oldest workspace first; given a workspace, returns the account total and that workspace only. */
  async usage(userId: string, workspaceId: string | null = null): Promise<DocumentUsage> {
    const { documentQuotaFreeBytes, documentQuotaProBytes } = this.configuration;
    const isActive = await this.subscriptions.isActive(userId);
    const [used] = await this.database.run<Used>(usageStatements.ofUser, [userId, workspaceId]);
    if (!used) throw new Error('the sum of the usage returned no row');
    const { usedBytes, workspaces } = used;
    return { usedBytes, quotaBytes: isActive ? documentQuotaProBytes : documentQuotaFreeBytes, workspaces };
  }

  /**
   * Refuses an upload that will not fit before its body is read. This is only a forecast: the write decides. An
   * upload that repeats the live head, or whose precondition fails, is left to the write.
   * @param size of the body, if known
   * @returns a callback for bodies of unknown size: it takes the number of bytes received so far and throws the same error
   * @throws InsufficientStorage
   */
  async foresee(upload: ForeseenUpload, size: number | undefined): Promise<(received: number) => void> {
    const quota = this.ofUploads;
    if (quota === null) return unlimited;
    const found = await this.foreseen(upload.workspaceId, upload.encryptedPath);
    if (!found || !isWritten(upload, found.liveHash)) return unlimited;
    const refuseAbove = (bytes: number): void => {
      if (found.usedBytes + bytes > quota) throw this.exceeded(found.usedBytes, bytes);
    };
    refuseAbove(size ?? 0);
    return refuseAbove;
  }

  /**
   * Bytes in the owner's other workspaces, for a write on a node that does not have them. Below half of the quota the value may
   * be KEPT_MS old: asking all nodes for each upload would cost more than the upload. While a node refuses connections, uploads
   * to workspaces of other nodes continue with the last value that this instance knows, or with 0.
   */
  async heldElsewhere(workspaceId: string): Promise<number> {
    const quota = this.ofUploads;
    if (quota === null) return 0;
    const known = this.lately(workspaceId, quota);
    if (known !== undefined) return known;
    const bytes = await this.askOtherNodes(workspaceId);
    this.elsewhere.delete(workspaceId); // inserted again below, as the newest
    const [oldest] = this.elsewhere.keys();
    if (this.elsewhere.size >= MAX_KEPT && oldest !== undefined) this.elsewhere.delete(oldest);
    this.elsewhere.set(workspaceId, { bytes, until: performance.now() + KEPT_MS });
    return bytes;
  }

  private async askOtherNodes(workspaceId: string): Promise<number> {
    try {
      const [held] = await this.database.run<{ usedBytes: number }>(fileStatements.heldElsewhere, [
        workspaceId,
      ]);
      return held?.usedBytes ?? 0;
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      return this.elsewhere.get(workspaceId)?.bytes ?? 0;
    }
  }

  /** Like `heldElsewhere`, but from the cache alone; undefined when the nodes must be asked. */
  knownElsewhere(workspaceId: string): number | undefined {
    const quota = this.ofUploads;
    return quota === null ? 0 : this.lately(workspaceId, quota);
  }

  /** The cached value; undefined when it has expired or is at least half of the quota. */
  private lately(workspaceId: string, quota: number): number | undefined {
    const known = this.elsewhere.get(workspaceId);
    return known && known.until > performance.now() && known.bytes < quota / 2 ? known.bytes : undefined;
  }

  private async foreseen(workspaceId: string, encryptedPath: string): Promise<Foreseen | undefined> {
    const [found] = await this.database.run<Foreseen>(fileStatements.foreseen, [workspaceId, encryptedPath]);
    if (!found || found.isWhole) return found;
    return { ...found, usedBytes: found.usedBytes + (await this.heldElsewhere(workspaceId)) };
  }

  /** Counts a refusal and returns its error. */
  exceeded(usedBytes: number, requestedBytes: number): InsufficientStorage {
    this.refusals.add();
    return new InsufficientStorage('the storage quota is used up', {
      code: 'STORAGE_QUOTA_EXCEEDED',
      details: { usedBytes, quotaBytes: this.ofUploads ?? 0, requestedBytes, locked: false },
    });
  }
}

const unlimited = (): void => undefined;

function isWritten({ contentHash, precondition }: ForeseenUpload, liveHash: string | null): boolean {
  const { ifMatch, ifAbsent } = precondition;
  if (liveHash === contentHash || (ifAbsent && liveHash !== null)) return false;
  return ifMatch === null || (liveHash !== null && (ifMatch.includes(liveHash) || ifMatch.includes('*')));
}
