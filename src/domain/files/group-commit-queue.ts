import { Injectable } from '@nestjs/common';
import { setImmediate as readRequests } from 'node:timers/promises';
import { KeyedCounter } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { sqlState } from '../../platform/database/index.js';
import { ServiceUnavailable } from '../../platform/http/index.js';
import { Queues } from '../../platform/limits/index.js';
import { requestScope } from '../../platform/log.js';
import { DocumentQuota } from './document-quota.js';
import { type Answered, type Put, type PutOutcome, UploadWriter } from './upload-writer.js';
import { UploadLines, type Waiting } from './upload-lines.js';

type Answer = () => void;

/** A sequence of commits, one after the other. */
interface Lane {
  /** Whether it counts against MOST_SHARED_COMMITS; false while it waits for a slow commit of one workspace. */
  isSharing: boolean;
}

const nothing: Answer = () => undefined;

/** Limits of waiting uploads per instance: of one user, and of all users. Each upload may hold INLINE_BLOB_BYTES. */
const MOST_OF_ONE_USER = 200;
const MOST_OF_ALL = 1_000;
const RETRY_SECONDS = 1;
/**
 * The longest wait for earlier commits. Without it, each batch would time out in turn when the database stops
 * responding.
 */
const LONGEST_WAIT_MS = 10_000;
/** When a commit takes longer, the next one starts beside it. */
const PATIENCE_MS = 50;
/** Concurrent shared commits, per part of the tables on nodes. All but one of them have taken longer than PATIENCE_MS. */
const MOST_SHARED_COMMITS = 3;

/**
 * Group commit: an upload is committed at once when no commit is running. Uploads that arrive meanwhile, to any workspaces, share
 * the next commit. Committed separately, they would queue for a workspace's row lock, and each would pay for its own round trip
 * and its own flush. No upload is acknowledged before its commit, and each is decided as if it were alone, in order of arrival at
 * its workspace.
 *
 * A workspace cannot delay other workspaces: a shared commit that finds it locked, deleted or closed to the caller leaves out its
 * uploads, which are then committed separately, with all uploads that arrive for it meanwhile. Owners take turns in shared
 * commits, which run one at a time unless they are slow, and count as the service's own statements.
 */
@Injectable()
export class GroupCommitQueue {
  /** By part of the tables, because a statement writes to the tables of one part. A single server has one part. */
  private readonly parts = new Map<string, PartCommits>();
  private readonly counts = new KeyedCounter();

  constructor(
    private readonly writer: UploadWriter,
    private readonly clock: Clock,
    private readonly quota: DocumentQuota,
    queues: Queues,
  ) {
    queues.watch('uploads', () => this.waiting);
  }

  /** The number of uploads that are not yet in a commit, without those of batches. */
  get waiting(): number {
    return this.counts.total;
  }

  /**
   * @throws ServiceUnavailable when too many uploads wait, WorkspaceClosed when access was refused and nothing was
   * written, InsufficientStorage when the quota would be exceeded, and any database error for this upload
   */
  async put(put: Put): Promise<PutOutcome> {
    const owner = ownerOf(put);
    const commits = await this.commitsOf(put);
    if (this.counts.of(owner) >= MOST_OF_ONE_USER)
      throw new ServiceUnavailable(
        'too many uploads at once: wait for your own requests to finish',
        RETRY_SECONDS,
      );
    if (this.waiting >= MOST_OF_ALL) throw new ServiceUnavailable('too many uploads at once', RETRY_SECONDS);
    return new Promise((resolve, reject) => {
      commits.enter([{ owner, isCounted: true, put, resolve, reject, ...this.now() }]);
    });
  }

  /**
   * Commits the uploads of a batch, each to a different path of one workspace: in one commit if they fit and nothing else waits.
   * They do not count as waiting uploads, so the caller must bound their number.
   * @returns for each upload the outcome, or the error that `put` would throw
   */
  async putAll(puts: readonly Put[]): Promise<PromiseSettledResult<PutOutcome>[]> {
    const [first] = puts;
    if (!first) return [];
    let commits: PartCommits;
    try {
      commits = await this.commitsOf(first);
    } catch (reason) {
      return puts.map(() => ({ status: 'rejected', reason }));
    }
    const now = this.now();
    const entering: Waiting[] = [];
    const outcomes = puts.map(
      (put) =>
        new Promise<PutOutcome>((resolve, reject) => {
          entering.push({ owner: ownerOf(put), isCounted: false, put, resolve, reject, ...now });
        }),
    );
    commits.enter(entering);
    return Promise.allSettled(outcomes);
  }

  private now(): Pick<Waiting, 'since' | 'scope'> {
    return { since: this.clock.elapsed(), scope: requestScope.getStore() };
  }

  private async commitsOf({ workspaceId }: Put): Promise<PartCommits> {
    const part = await this.writer.partOf(workspaceId);
    const known = this.parts.get(part);
    if (known) return known;
    const commits = new PartCommits(this.writer, this.clock, this.quota, this.counts);
    this.parts.set(part, commits);
    return commits;
  }
}

/** The commits to one part of the tables; a single server has one part. */
class PartCommits {
  private readonly lines: UploadLines;
  /** The lane in which the next shared commit starts; undefined when nothing waits, or when the last commit is slow. */
  private lane: Lane | undefined;
  /** The number of lanes with a running commit, without slow commits of one workspace. */
  private sharing = 0;

  /** @param counts by owner, the number of uploads that are not yet in a commit, without those of batches */
  constructor(
    private readonly writer: UploadWriter,
    private readonly clock: Clock,
    private readonly quota: DocumentQuota,
    counts: KeyedCounter,
  ) {
    this.lines = new UploadLines(counts);
  }

  enter(uploads: readonly Waiting[]): void {
    for (const upload of uploads) this.lines.add(upload);
    this.startSharing();
  }

  private startSharing(): void {
    if (this.lane !== undefined || this.sharing === MOST_SHARED_COMMITS || !this.lines.isReady) return;
    const lane = { isSharing: true };
    this.lane = lane;
    this.sharing++;
    requestScope.exit(() => void this.share(lane));
  }

  /**
   * Runs shared commits until no upload waits. While the database processes a commit, the uploads of the previous commit are
   * answered and the next requests of their clients are read. A slow commit is the last of its lane: another lane takes over.
   */
  private async share(lane: Lane): Promise<void> {
    let answer = nothing;
    while (this.lane === lane) {
      this.refuse(this.lines.dropBefore(this.clock.elapsed() - LONGEST_WAIT_MS));
      const batch = this.lines.take();
      if (batch.length > 0) {
        const isOfOne = isOfOneWorkspace(batch);
        const patience = setTimeout(() => {
          if (isOfOne) this.endSharing(lane);
          this.leave(lane);
        }, PATIENCE_MS);
        const committing = isOfOne ? this.commitApart(batch) : this.commitTogether(batch);
        process.nextTick(answer); // runs after the tick in which the pool sends queued statements
        answer = await committing;
        clearTimeout(patience);
      } else {
        answer();
        answer = nothing;
        await readRequests();
        if (!this.lines.isReady) this.lane = undefined;
      }
    }
    this.endSharing(lane);
    answer();
    this.startSharing();
  }

  private endSharing(lane: Lane): void {
    if (lane.isSharing) this.sharing--;
    lane.isSharing = false;
  }

  private leave(lane: Lane): void {
    if (this.lane === lane) this.lane = undefined;
    this.startSharing();
  }

  /** Commits a batch of one workspace, waiting for its lock, and returns the callback that answers its uploads. Never rejects. */
  private async commitApart(batch: readonly Waiting[]): Promise<Answer> {
    const [first] = batch;
    const answer = await inScopeOf(first, () => this.commit(batch));
    if (first) this.lines.release(first.put.workspaceId);
    return answer;
  }

  /** Commits a batch of several workspaces and returns the callback that answers its uploads. Never rejects. */
  private async commitTogether(batch: readonly Waiting[]): Promise<Answer> {
    try {
      const outcomes = await this.writer.writeUnlocked(batch.map(({ put }) => put));
      const left = batch.filter((_, index) => outcomes[index] === undefined);
      this.release(batch, left);
      return () =>
        batch.forEach((waiting, index) => {
          const outcome = outcomes[index];
          if (outcome) this.settle(waiting, outcome);
        });
    } catch (error) {
      const left = isOfTheWorkspace(error) ? batch : [];
      this.release(batch, left);
      return left.length > 0 ? nothing : () => batch.forEach(({ reject }) => reject(error));
    }
  }

  /** Makes the lines of a committed batch ready again; uploads that were left out are committed separately first. */
  private release(batch: readonly Waiting[], left: readonly Waiting[]): void {
    for (const workspaceId of new Set(batch.map(({ put }) => put.workspaceId))) {
      const uploads = left.filter(({ put }) => put.workspaceId === workspaceId);
      if (uploads.length === 0) this.lines.release(workspaceId);
      else inScopeOf(uploads[0], () => void this.drainApart(workspaceId, uploads));
    }
  }

  /** Commits uploads of one workspace separately, and then all that wait behind them. */
  private async drainApart(workspaceId: string, left: readonly Waiting[]): Promise<void> {
    for (let batch = left; batch.length > 0; batch = this.lines.takeOf(workspaceId)) {
      (await this.commit(batch))();
      await readRequests();
      this.refuse(this.lines.dropBefore(this.clock.elapsed() - LONGEST_WAIT_MS, [workspaceId]));
    }
    this.lines.release(workspaceId);
  }

  /** Nothing has been sent to the database for these uploads yet. */
  private refuse(late: readonly Waiting[]): void {
    for (const { reject } of late)
      reject(new ServiceUnavailable('the preceding uploads took too long', RETRY_SECONDS));
  }

  /**
   * Commits uploads of one workspace and returns the callback that answers them. Never rejects. When the database rejects
   * the batch because of one upload, each upload is retried alone, in order.
   */
  private async commit(batch: readonly Waiting[]): Promise<Answer> {
    try {
      const outcomes = await this.writer.write(batch.map(({ put }) => put));
      return () => batch.forEach((waiting, index) => this.settle(waiting, outcomes[index] as Answered));
    } catch (error) {
      if (batch.length === 1 || !isOfOneRow(error)) return () => batch.forEach(({ reject }) => reject(error));
      return this.commitEach(batch);
    }
  }

  private async commitEach(batch: readonly Waiting[]): Promise<Answer> {
    for (const one of batch) (await this.commit([one]))();
    return nothing;
  }

  private settle({ put, resolve, reject }: Waiting, outcome: Answered): void {
    if (outcome.outcome === 'quota_exceeded') reject(this.quota.exceeded(outcome.usedBytes, put.size));
    else resolve(outcome);
  }
}

/**
 * Errors that the values of a single row can cause: the whole batch was rolled back, but without that row it would
 * have committed.
 */
const isOfOneRow = (error: unknown): boolean => /^(22|23|P0)/.test(sqlState(error) ?? '');

/**
 * Errors that a single workspace can cause: those of one row, a lock timeout, a cancelled statement, a deadlock, a shard that
 * moves, and `0A`, a plan that a migration has made invalid.
 */
const isOfTheWorkspace = (error: unknown): boolean =>
  isOfOneRow(error) || /^(0A|40|55P03|57014|CS001)/.test(sqlState(error) ?? '');

/** Attributes the statements of `work` to the user of the waiting request, not to the request that triggered it. */
function inScopeOf<T>(waiting: Waiting | undefined, work: () => T): T {
  return waiting?.scope ? requestScope.run(waiting.scope, work) : requestScope.exit(work);
}

const ownerOf = ({ caller, workspaceId }: Put): string => caller?.userId ?? workspaceId;

const isOfOneWorkspace = (batch: readonly Waiting[]): boolean =>
  batch.every(({ put }) => put.workspaceId === batch[0]?.put.workspaceId);
