import { Injectable } from '@nestjs/common';
import { Subscriptions } from '../billing/index.js';
import { Configuration } from '../config/index.js';
import { Database, statement } from '../platform/database/index.js';
import { InsufficientStorage } from '../platform/http/index.js';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import type { Precondition } from './file-headers.js';
import { fileStatements } from './files.queries.js';

/** For the advisory lock of those who correct counts. */
const CORRECTION = 7_325_190_003;

export const usageStatements = {
  /** Usage of the user $1: the sum, and each workspace, oldest first; with $2, that workspace alone. All of one snapshot. */
  ofUser: statement(
    'usage.of_user',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes",
       coalesce(
         json_agg(json_build_object('id', id, 'usedBytes', document_bytes, 'files', live_files) ORDER BY id)
           FILTER (WHERE $2::uuid IS NULL OR id = $2), '[]'
       ) AS workspaces
     FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL`,
  ),

  total: statement(
    'usage.total',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS bytes FROM workspaces WHERE deleted_at IS NULL`,
  ),

  /** The workspace after $1, with what it counts and what it has: the blobs that its versions refer to, each once. */
  next: statement(
    'usage.next',
    `SELECT w.id AS "workspaceId", w.document_bytes AS "usedBytes", (
       SELECT coalesce(sum(b.size), 0)::bigint FROM blobs b
       WHERE b.workspace_id = w.id
         AND EXISTS (SELECT FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
     ) AS "actualBytes"
     FROM (SELECT id, document_bytes FROM workspaces WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT 1) w`,
  ),

  /** Until the connection ends. Two at once would add the same twice. */
  correctAlone: statement('usage.correct_alone', `SELECT pg_advisory_lock(${CORRECTION})`),

  /** Every write changes both alike, so what is missing is the same later. */
  correct: statement(
    'usage.correct',
    `UPDATE workspaces SET document_bytes = document_bytes + $2 WHERE id = $1`,
  ),
};

/** Usage of one workspace: the bytes of its kept versions. */
export interface WorkspaceUsage {
  readonly id: string;
  /** Bytes of their blobs, each counted once. */
  readonly usedBytes: number;
  /** Live ones. */
  readonly files: number;
}

export interface DocumentUsage {
  /** The sum over all workspaces of the account. */
  readonly usedBytes: number;
  /** 0: unlimited. */
  readonly quotaBytes: number;
  readonly workspaces: readonly WorkspaceUsage[];
}

type Used = Omit<DocumentUsage, 'quotaBytes'>;

/** An upload before its body has come. */
export interface ForeseenUpload {
  readonly workspaceId: string;
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly precondition: Precondition;
}

interface Foreseen {
  readonly usedBytes: number;
  readonly liveHash: string | null;
}

/**
 * What the kept versions of an account's workspaces may take up together. The statement that writes an upload decides, under
 * the lock of its workspace; what the account's other workspaces hold is as committed when that statement begins, so uploads
 * to several of them at once may overshoot by what was under way.
 */
@Injectable()
export class DocumentQuota {
  private readonly refusals: Counter;

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
    metrics: Metrics,
  ) {
    const help = 'Uploads of files that were refused because the quota of their account is used up';
    this.refusals = metrics.counter('cloud_sync_document_quota_refusals_total', help);
    metrics.gauge(
      'cloud_sync_document_bytes',
      'Bytes of the kept versions of all workspaces',
      [],
      async () => {
        const [total] = await database.run<{ bytes: number }>(usageStatements.total, []);
        return [{ value: total?.bytes ?? 0 }];
      },
    );
  }

  /** The quota of an upload in bytes; null: unlimited. Every route that takes documents asks for an active subscription. */
  get ofUploads(): number | null {
    return this.configuration.documentQuotaProBytes || null;
  }

  /** Oldest workspace first; with a workspace, the sums of the account and that one alone. */
  async usage(userId: string, workspaceId: string | null = null): Promise<DocumentUsage> {
    const { documentQuotaFreeBytes, documentQuotaProBytes } = this.configuration;
    const isActive = await this.subscriptions.isActive(userId);
    const [used] = await this.database.run<Used>(usageStatements.ofUser, [userId, workspaceId]);
    if (!used) throw new Error('the sum of the usage returned no row');
    return { ...used, quotaBytes: isActive ? documentQuotaProBytes : documentQuotaFreeBytes };
  }

  /**
   * Refuses an upload that will not fit before its body costs anything. It only foresees: the write decides. One that repeats
   * the live head, or whose condition does not hold, is left to the write.
   * @param size of the body, where it is known
   * @returns to be called with the number of bytes that have come, where the size is not known @throws InsufficientStorage, as does that
   */
  async foresee(upload: ForeseenUpload, size: number | undefined): Promise<(received: number) => void> {
    const quota = this.ofUploads;
    if (quota === null) return unlimited;
    const values = [upload.workspaceId, upload.encryptedPath];
    const [found] = await this.database.run<Foreseen>(fileStatements.foreseen, values);
    if (!found || !isWritten(upload, found.liveHash)) return unlimited;
    const refuseAbove = (bytes: number): void => {
      if (found.usedBytes + bytes > quota) throw this.exceeded(found.usedBytes, bytes);
    };
    refuseAbove(size ?? 0);
    return refuseAbove;
  }

  /** The answer to an upload that does not fit. */
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
