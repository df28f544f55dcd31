import { Injectable } from '@nestjs/common';
import { Subscriptions } from '../billing/index.js';
import { Configuration } from '../config/index.js';
import { Database, statement } from '../platform/database/index.js';
import { InsufficientStorage } from '../platform/http/index.js';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import { WorkspaceCatalogue } from '../workspaces/index.js';
import type { Precondition } from './file-headers.js';
import { fileStatements } from './files.queries.js';

/** Key of the advisory lock that serializes corrections of usage counters. */
const CORRECTION = 7_325_190_005;

export const usageStatements = {
  /**
   * Usage of user $1: the total and each workspace, oldest first; with $2, that workspace only. All from one
   * snapshot.
   */
  ofUser: statement(
    'usage.of_user',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes",
       coalesce(
         json_agg(json_build_object('id', id, 'usedBytes', document_bytes, 'files', live_files) ORDER BY id)
           FILTER (WHERE $2::uuid IS NULL OR id = $2), '[]'
       ) AS workspaces
     FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL`,
    {
      onNodes: `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes",
       coalesce(
         json_agg(json_build_object('id', id, 'usedBytes', document_bytes, 'files', live_files) ORDER BY id)
           FILTER (WHERE $2::uuid IS NULL OR id = $2), '[]'
       ) AS workspaces
     FROM workspaces WHERE id = ANY ($3::uuid[]) AND user_id = $1 AND deleted_at IS NULL`,
    },
  ),

  total: statement(
    'usage.total',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS bytes FROM workspaces WHERE deleted_at IS NULL`,
  ),

  /**
   * The next workspace after $1, with its usage counter and its actual usage: the blobs that its versions refer to,
   * each counted once.
   */
  next: statement(
    'usage.next',
    `SELECT w.id AS "workspaceId", w.document_bytes AS "usedBytes", (
       SELECT coalesce(sum(b.size), 0)::bigint FROM blobs b
       WHERE b.workspace_id = w.id
         AND EXISTS (SELECT 1 FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
     ) AS "actualBytes"
     FROM workspaces w WHERE w.id > $1 AND w.deleted_at IS NULL ORDER BY w.id LIMIT 1`,
  ),

  /** Held until the connection ends. Two concurrent corrections would add the same difference twice. */
  correctAlone: statement('usage.correct_alone', `SELECT pg_advisory_lock(${CORRECTION})`),

  /** Adds a difference: concurrent writes change both sums equally, so the difference stays valid. */
  correct: statement(
    'usage.correct',
    `UPDATE workspaces SET document_bytes = document_bytes + $2 WHERE id = $1`,
  ),
};

/** How long what other nodes hold may be used, and for how many workspaces it is kept. */
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
  readonly contentHash: string;
  readonly precondition: Precondition;
}

interface Foreseen {
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
    private readonly catalogue: WorkspaceCatalogue,
    metrics: Metrics,
  ) {
    const help = 'File uploads refused because the quota of the account is used up';
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
    const ids = await this.catalogue.idsOf(this.database, userId);
    const values = [userId, workspaceId, ...(ids ? [ids] : [])];
    const [used] = await this.database.run<Used>(usageStatements.ofUser, values);
    if (!used) throw new Error('the sum of the usage returned no row');
    return { ...used, quotaBytes: isActive ? documentQuotaProBytes : documentQuotaFreeBytes };
  }

  /**
   * Refuses an upload that will not fit before its body is read. This is only a forecast: the write decides. An
   * upload that repeats the live head, or whose precondition fails, is left to the write.
   * @param size of the body, if known
   * @returns a callback to call with the number of bytes received so far, for bodies of unknown size; it throws the
   * same
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
   * What the owner's other workspaces hold, for a write on a node that does not have them. Far from the quota it is a few seconds
   * old: to ask all nodes for each upload would cost more than the upload. While a node is away, the last known value counts, or
   * nothing: workspaces on other nodes go on.
   */
  async heldElsewhere(workspaceId: string): Promise<number> {
    const quota = this.ofUploads;
    if (quota === null) return 0;
    const known = this.lately(workspaceId, quota);
    if (known !== undefined) return known;
    const last = this.elsewhere.get(workspaceId)?.bytes ?? 0;
    const bytes = await this.database.unlessAway(() => this.askOtherNodes(workspaceId), last);
    this.keep(workspaceId, bytes);
    return bytes;
  }

  /**
   * The same for many workspaces, without asking other nodes: they may be slow.
   * @returns what is known, by workspace; the others have to be asked for
   */
  async knownElsewhere(workspaceIds: readonly string[]): Promise<Map<string, number>> {
    const quota = this.ofUploads;
    if (quota === null) return new Map(workspaceIds.map((id) => [id, 0]));
    const unknown = workspaceIds.filter((id) => this.lately(id, quota) === undefined);
    if (unknown.length > 0) for (const id of await this.catalogue.aloneOf(unknown)) this.keep(id, 0);
    return new Map(
      workspaceIds.flatMap((id) => {
        const bytes = this.lately(id, quota);
        return bytes === undefined ? [] : [[id, bytes]];
      }),
    );
  }

  /** Far from the quota it may be a few seconds old. */
  private lately(workspaceId: string, quota: number): number | undefined {
    const known = this.elsewhere.get(workspaceId);
    return known && known.until > performance.now() && known.bytes < quota / 2 ? known.bytes : undefined;
  }

  private keep(workspaceId: string, bytes: number): void {
    if (this.elsewhere.size >= MAX_KEPT) this.elsewhere.clear();
    this.elsewhere.set(workspaceId, { bytes, until: performance.now() + KEPT_MS });
  }

  private async askOtherNodes(workspaceId: string): Promise<number> {
    const others = await this.catalogue.siblingsOf(workspaceId);
    if (others.length === 0) return 0;
    const [held] = await this.database.run<{ usedBytes: number }>(fileStatements.heldElsewhere, [others]);
    return held?.usedBytes ?? 0;
  }

  private async foreseen(workspaceId: string, encryptedPath: string): Promise<Foreseen | undefined> {
    const values = [workspaceId, encryptedPath];
    if (!this.database.isDistributed)
      return (await this.database.run<Foreseen>(fileStatements.foreseen, values))[0];
    const [found] = await this.database.run<Foreseen>(fileStatements.foreseenOnNode, values);
    return found && { ...found, usedBytes: found.usedBytes + (await this.heldElsewhere(workspaceId)) };
  }

  /** The error for an upload that does not fit. */
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
