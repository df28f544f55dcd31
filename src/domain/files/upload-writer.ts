import { Injectable } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type Caller, WorkspaceAccess, WorkspaceClosed } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { Database, type Parameter, type StoredFunctions } from '../../platform/database/index.js';
import { bodyChunks, declaredLength } from '../../platform/http/index.js';
import { Blobs, FreeSpace } from '../../platform/storage/index.js';
import { DocumentQuota, type ForeseenUpload } from './document-quota.js';
import { fileStatements } from './files.queries.js';

/** The data of one upload for the database; `bytes` is null when they are in the blob store. */
export interface Put extends ForeseenUpload {
  /** The workspace must be accessible to this caller; undefined when access has already been checked. */
  readonly caller: Caller | undefined;
  readonly deviceId: string;
  readonly size: number;
  readonly now: Date;
  readonly fileId: string;
  readonly versionId: string;
  readonly blobId: string;
  readonly bytes: Buffer | null;
}

export interface PutOutcome {
  readonly outcome:
    'created' | 'updated' | 'unchanged' | 'precondition_failed' | 'workspace_gone' | 'blob_gone';
  readonly fileId: string;
  readonly version: number;
  /** Cursor of the logged change; null when nothing was written. */
  readonly cursor: number | null;
}

/** With `quota_exceeded`, nothing was written: `usedBytes` and this upload would exceed the quota. */
export type Answered = PutOutcome | { readonly outcome: 'quota_exceeded'; readonly usedBytes: number };

/** Writes uploads in one commit: to one workspace, or to several workspaces that are not locked. */
@Injectable()
export class UploadWriter {
  private readonly isOnNodes: boolean;

  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly clock: Clock,
    private readonly quota: DocumentQuota,
  ) {
    this.isOnNodes = database.isDistributed;
  }

  /**
   * Writes uploads of one caller to one workspace, to different paths. Waits for the lock of the workspace.
   * @throws WorkspaceClosed when access was refused and nothing was written
   */
  async write(puts: readonly Put[]): Promise<Answered[]> {
    const [first] = puts;
    if (!first) return [];
    const access = await this.workspaceAccess.admittedParameters(first.caller);
    const values = [first.workspaceId, ...columns(puts), ...access];
    const rows = await this.putInto(first.workspaceId, values);
    if (rows.length === 0) throw new WorkspaceClosed();
    if (rows.length !== puts.length)
      throw new Error(`expected ${puts.length} upload results, got ${rows.length}`);
    return rows;
  }

  private async putInto(workspaceId: string, values: Parameter[]): Promise<Answered[]> {
    const { ofUploads } = this.quota;
    if (!this.isOnNodes) return this.database.run(fileStatements.put, [...values, ofUploads]);
    const elsewhere = await this.quota.heldElsewhere(workspaceId);
    return this.database.run(fileStatements.putOnNode, [...values, elsewhere, ofUploads]);
  }

  /** The part of the tables that holds the workspace: uploads to one part can share a commit. '' on a single server. */
  async partOf(workspaceId: string): Promise<string> {
    return (await this.database.placeOf(workspaceId)).id;
  }

  /**
   * Writes uploads to any workspaces (on nodes: of one part), to each of them from one caller and to different paths. Never waits
   * for the lock of a workspace.
   * @returns undefined for uploads to a workspace that is closed to the caller, locked, or deleted, which are not written; on
   * nodes also without a caller, or when the usage of the account's other workspaces is not known
   */
  async writeUnlocked(puts: readonly Put[]): Promise<(Answered | undefined)[]> {
    const outcomes = Array<Answered | undefined>(puts.length).fill(undefined);
    if (this.isOnNodes) {
      await this.writeOnNode(puts, outcomes);
      return outcomes;
    }
    const accessOf = (caller: Caller | undefined): AccessParameters =>
      this.workspaceAccess.accessParameters(caller);
    const values = valuesTogether(puts, accessOf, this.clock.now(), this.quota.ofUploads);
    const rows = await this.database.run<Placed>(fileStatements.putTogether, values);
    for (const row of rows) outcomes[row.place - 1] = row;
    return outcomes;
  }

  /** Leaves out uploads of accounts whose usage in other workspaces is not known. */
  private async writeOnNode(puts: readonly Put[], outcomes: (Answered | undefined)[]): Promise<void> {
    const admitted = await this.workspaceAccess.areAdmitted(puts.map(({ caller }) => caller));
    const elsewhere = puts.map(({ workspaceId }) => this.quota.knownElsewhere(workspaceId));
    const open = [...puts.keys()].filter((n) => admitted[n] && elsewhere[n] !== undefined);
    if (open.length === 0) return;
    const uploads = open.map((n) => ({ put: puts[n] as Put, held: elsewhere[n] ?? 0 }));
    const values = valuesOnShard(uploads, this.quota.ofUploads);
    const rows = await this.database.run<Placed>(fileStatements.putTogether, values);
    for (const row of rows) outcomes[open[row.place - 1] as number] = row;
  }
}

type Placed = Answered & { readonly place: number };

type AccessParameters = ReturnType<WorkspaceAccess['accessParameters']>;

/** The values of `fileStatements.putTogether`. */
export function valuesTogether(
  puts: readonly Put[],
  accessOf: (caller: Caller | undefined) => AccessParameters,
  now: Date,
  quota: number | null,
): Parameter[] {
  const workspaces = new Places<string>();
  const users = new Places<string | null>();
  const owners: number[] = [];
  const graceDays: (number | null)[] = [];
  const places = puts.map(({ workspaceId, caller }) => {
    const place = workspaces.of(workspaceId);
    if (place > owners.length) {
      const [userId, , days] = accessOf(caller);
      owners.push(users.of(userId));
      graceDays.push(days);
    }
    return place;
  });
  return [workspaces.all, owners, graceDays, now, users.all, quota, places, ...columns(puts)];
}

/**
 * The values of `fileStatements.putTogether` for the tables of a shard.
 * @param uploads each with the usage of its account in other workspaces
 */
function valuesOnShard(
  uploads: readonly { readonly put: Put; readonly held: number }[],
  quota: number | null,
): Parameter[] {
  const workspaces = new Places<string>();
  const owners: (string | null)[] = [];
  const elsewhere: number[] = [];
  const places = uploads.map(({ put: { workspaceId, caller }, held }) => {
    const place = workspaces.of(workspaceId);
    if (place > owners.length) {
      owners.push(caller?.userId ?? null);
      elsewhere.push(held);
    }
    return place;
  });
  const puts = uploads.map(({ put }) => put);
  return [workspaces.all, owners, elsewhere, quota, places, ...columns(puts)];
}

/** Distinct values with their 1-based positions. */
class Places<T> {
  private readonly places = new Map<T, number>();

  of(value: T): number {
    const place = this.places.get(value) ?? this.places.size + 1;
    this.places.set(value, place);
    return place;
  }

  get all(): T[] {
    return [...this.places.keys()];
  }
}

/** The bytes are sent as one buffer with the length of each upload: an array of buffers would be sent as text. */
const columns = (puts: readonly Put[]): Parameter[] => [
  puts.map((put) => put.encryptedPath),
  puts.map((put) => put.contentHash),
  puts.map((put) => put.size),
  puts.map((put) => put.deviceId),
  puts.map((put) => put.now.toISOString()),
  puts.map((put) => put.fileId),
  puts.map((put) => put.versionId),
  puts.map((put) => put.blobId),
  Buffer.concat(puts.flatMap((put) => put.bytes ?? [])),
  puts.map((put) => put.bytes?.length ?? null),
  puts.map((put) => put.precondition.ifMatch?.join(',') ?? null),
  puts.map((put) => String(put.precondition.ifAbsent)),
];

/** Builds copy the file beside the code: scripts/compile.mjs and scripts/bundle.mjs. */
export const UPLOAD_FUNCTIONS: StoredFunctions = {
  main: 'put_documents',
  template: readFileSync(new URL('./put-documents.sql', import.meta.url), 'utf8'),
};

/** Refuses an upload that does not fit before its body is read, or as soon as too many bytes have arrived. */
@Injectable()
export class UploadAdmission {
  constructor(
    private readonly configuration: Configuration,
    private readonly quota: DocumentQuota,
    private readonly space: FreeSpace,
    private readonly blobs: Blobs,
  ) {}

  /**
   * Passes the body of an upload to `use`.
   * @throws NoRoom when the disk has no room for uploads, InsufficientStorage, and whatever `use` throws
   */
  async admit<T>(
    request: IncomingMessage,
    upload: ForeseenUpload,
    use: (body: AsyncIterable<Buffer>) => Promise<T>,
  ): Promise<T> {
    const { maxFileBytes } = this.configuration;
    const length = declaredLength(request);
    const held = (bytes: number): number => this.blobs.heldOf(bytes);
    return this.space.during(async (place) => {
      if (this.isLeftToWrite(length)) return use(bodyChunks(request, maxFileBytes, { place, held }));
      const refuseAbove = await this.quota.foresee(upload, length);
      let received = 0;
      const work = (bytes: number): Promise<void> | undefined => {
        refuseAbove((received += bytes));
        return place.work(bytes);
      };
      return use(bodyChunks(request, maxFileBytes, { place: { ...place, work }, held }));
    });
  }

  /**
   * A small body is checked only by its write: asking first would cost as much as reading it. A body that is too
   * large is refused for its size.
   */
  private isLeftToWrite(length: number | undefined): boolean {
    const { inlineBlobBytes, maxFileBytes } = this.configuration;
    const { ofUploads } = this.quota;
    if (ofUploads === null) return true;
    return length !== undefined && (length <= Math.min(inlineBlobBytes, ofUploads) || length > maxFileBytes);
  }
}
