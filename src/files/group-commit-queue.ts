import { Injectable } from '@nestjs/common';
import { setImmediate as readRequests } from 'node:timers/promises';
import { KeyedCounter } from '../platform/async/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, type Parameter, sqlState } from '../platform/database/index.js';
import { ServiceUnavailable } from '../platform/http/index.js';
import { Queues } from '../platform/limits/index.js';
import type { Caller } from '../access/index.js';
import { callerKey, WorkspaceAccess, WorkspaceClosed } from '../access/guards/index.js';
import { DocumentQuota } from './document-quota.js';
import type { Precondition } from './file-headers.js';
import { fileStatements } from './files.queries.js';

/** The data of one upload for the database; `bytes` is null when they are in the blob store. */
export interface Put {
  readonly workspaceId: string;
  /** The workspace must be accessible to this caller; undefined when access has already been checked. */
  readonly caller: Caller | undefined;
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly size: number;
  readonly deviceId: string;
  readonly precondition: Precondition;
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
type Answered = PutOutcome | { readonly outcome: 'quota_exceeded'; readonly usedBytes: number };

interface Waiting {
  readonly owner: string;
  /** In ms, from `Clock.elapsed`. */
  readonly since: number;
  readonly put: Put;
  readonly resolve: (outcome: PutOutcome) => void;
  readonly reject: (error: unknown) => void;
}

type Answer = () => void;

const nothing: Answer = () => undefined;

const BATCH_ROWS = 64;
const BATCH_BYTES = 1024 * 1024;
/**
 * Limits per instance: uploads of one user across all workspaces, and of all users. Each upload may hold
 * INLINE_BLOB_BYTES.
 */
const MOST_OF_ONE_USER = 200;
const MOST_OF_ALL = 1_000;
const RETRY_SECONDS = 1;
/**
 * The longest wait for earlier commits. Without it, each batch would time out in turn when the database stops
 * responding.
 */
const LONGEST_WAIT_MS = 10_000;

/**
 * Group commit per workspace: the first upload is committed at once, and all uploads that arrive meanwhile share the
 * next commit. Committed separately, they would queue for the workspace's row lock and each pay for its own flush. No
 * upload is acknowledged before its commit, and each is decided as if it were alone, in order of arrival. A user with
 * many workspaces has many queues; their batches compete fairly for the database with the statements of other users.
 */
@Injectable()
export class GroupCommitQueue {
  private readonly lines = new Map<string, Waiting[]>();
  /** Number of waiting uploads per owner. */
  private readonly counts = new KeyedCounter();

  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly clock: Clock,
    private readonly quota: DocumentQuota,
    queues: Queues,
  ) {
    queues.watch('uploads', () => this.waiting);
  }

  /** Uploads not yet taken into a commit. */
  get waiting(): number {
    return this.counts.total;
  }

  /**
   * @throws ServiceUnavailable when too many uploads wait, WorkspaceClosed when access was refused and nothing was
   * written, InsufficientStorage when the quota would be exceeded, and any database error for this upload
   */
  async put(put: Put): Promise<PutOutcome> {
    const owner = put.caller?.userId ?? put.workspaceId;
    if (this.counts.of(owner) >= MOST_OF_ONE_USER)
      throw new ServiceUnavailable(
        'too many uploads at once: wait for your own requests to finish',
        RETRY_SECONDS,
      );
    if (this.waiting >= MOST_OF_ALL) throw new ServiceUnavailable('too many uploads at once', RETRY_SECONDS);
    const line = this.lines.get(put.workspaceId);
    return new Promise((resolve, reject) => {
      const waiting = { owner, put, resolve, reject, since: this.clock.elapsed() };
      this.counts.increment(owner);
      if (line) {
        line.push(waiting);
        return;
      }
      this.lines.set(put.workspaceId, [waiting]);
      void this.drain(put.workspaceId);
    });
  }

  /**
   * While the database processes a batch, the previous batch is answered and the requests that follow from it are
   * read.
   */
  private async drain(workspaceId: string): Promise<void> {
    const line = this.lines.get(workspaceId) ?? [];
    let answer = nothing;
    while (line.length > 0) {
      this.refuseLate(line);
      const batch = nextBatch(line);
      for (const { owner } of batch) this.counts.decrement(owner);
      const committing = this.commit(batch);
      process.nextTick(answer); // runs after the tick in which the pool sends queued statements
      answer = await committing;
      if (line.length > 0) continue;
      answer();
      answer = nothing;
      await readRequests();
    }
    this.lines.delete(workspaceId);
  }

  /** Nothing has been sent to the database for these uploads yet. */
  private refuseLate(line: Waiting[]): void {
    const onTime = line.findIndex(({ since }) => this.clock.elapsed() - since <= LONGEST_WAIT_MS);
    for (const { owner, reject } of line.splice(0, onTime < 0 ? line.length : onTime)) {
      this.counts.decrement(owner);
      reject(new ServiceUnavailable('the preceding uploads took too long', RETRY_SECONDS));
    }
  }

  /**
   * Writes a batch and returns the callback that answers its uploads. Never rejects. When the database rejects the
   * batch because of one upload, each upload is retried alone, in order.
   */
  private async commit(batch: readonly Waiting[]): Promise<Answer> {
    try {
      const outcomes = await this.run(batch.map(({ put }) => put));
      return () => batch.forEach((waiting, index) => this.settle(waiting, outcomes[index] as Answered));
    } catch (error) {
      if (batch.length === 1 || !isOfOneRow(error)) return () => batch.forEach(({ reject }) => reject(error));
      return this.commitApart(batch);
    }
  }

  private settle({ put, resolve, reject }: Waiting, outcome: Answered): void {
    if (outcome.outcome === 'quota_exceeded') reject(this.quota.exceeded(outcome.usedBytes, put.size));
    else resolve(outcome);
  }

  private async commitApart(batch: readonly Waiting[]): Promise<Answer> {
    for (const one of batch) (await this.commit([one]))();
    return nothing;
  }

  private async run(puts: readonly Put[]): Promise<Answered[]> {
    const [first] = puts;
    if (!first) return [];
    const access = this.workspaceAccess.accessParameters(first.caller);
    const values = [first.workspaceId, ...columns(puts), ...access, this.quota.ofUploads];
    const rows = await this.database.run<Answered>(fileStatements.put, values);
    if (rows.length === 0) throw new WorkspaceClosed();
    if (rows.length !== puts.length)
      throw new Error(`expected ${puts.length} upload results, got ${rows.length}`);
    return rows;
  }
}

/**
 * Errors that the values of a single row can cause: the whole batch was rolled back, but without that row it would
 * have committed.
 */
const isOfOneRow = (error: unknown): boolean => /^(22|23|P0)/.test(sqlState(error) ?? '');

/**
 * Takes at least one upload, all of one caller, without duplicate paths and without more inline bytes than a request
 * should carry.
 */
function nextBatch(line: Waiting[]): Waiting[] {
  const [first] = line;
  const caller = keyOf(first?.put);
  const paths = new Set<string>();
  let bytes = 0;
  const end = line.findIndex(({ put }, index) => {
    bytes += put.bytes?.length ?? 0;
    const isRepeated = paths.has(put.encryptedPath);
    paths.add(put.encryptedPath);
    const isOfAnother = keyOf(put) !== caller;
    return index > 0 && (isRepeated || isOfAnother || bytes > BATCH_BYTES || index === BATCH_ROWS);
  });
  return line.splice(0, end < 0 ? line.length : end);
}

const keyOf = (put: Put | undefined): string | undefined => put?.caller && callerKey(put.caller);

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
