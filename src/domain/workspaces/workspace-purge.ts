import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Not, Repository } from 'typeorm';
import { Clock, drained } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, Database, pagesById, runOnParts, type Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Background } from '../../platform/jobs/index.js';
import { Log, requestScope } from '../../platform/log.js';
import { BlobSweeper } from '../../platform/storage/index.js';
import { type Acting, AuditLog } from '../auth/audit/index.js';
import { WORKSPACE_DELETED } from './topics.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { deletionStatements, purgeStatements } from './workspaces.queries.js';

/** A deleted workspace whose data is to be purged. */
export interface DeletedWorkspace {
  readonly id: string;
  /** Null once the owner's account is deleted. All such workspaces share one turn: no user waits for the quota they free. */
  readonly userId: string | null;
}

/** A queue of deleted workspaces to purge: round robin between users, and between the workspaces of each user. */
export class PurgeQueue {
  /** By user, in the order of turns: the first user is next, and so is the first id of each user. */
  private readonly users = new Map<string | null, Set<string>>();

  get size(): number {
    let size = 0;
    for (const ids of this.users.values()) size += ids.size;
    return size;
  }

  /** Does nothing if the workspace is already queued. */
  add({ id, userId }: DeletedWorkspace): void {
    const ids = this.users.get(userId) ?? new Set();
    this.users.set(userId, ids);
    ids.add(id);
  }

  /** Removes and returns the next workspace. The user's other workspaces wait until every other user has had a turn. */
  next(): DeletedWorkspace | undefined {
    for (const [userId, ids] of this.users) {
      this.users.delete(userId);
      for (const id of ids) {
        ids.delete(id);
        if (ids.size > 0) this.users.set(userId, ids);
        return { id, userId };
      }
    }
    return undefined;
  }
}

/** Deletes a bounded number of a deleted workspace's rows; returns how many it deleted, 0 when none is left. */
export type PurgeStep = (workspaceId: string) => Promise<number>;

const LOOK_AGAIN_MS = 60_000;
const TAKEN_UP_AT_ONCE = 1000;

const IS_DELETED = { deletedAt: Not(IsNull()) };

/**
 * Purges deleted workspaces in the background, one bounded batch at a time, so that many deletions cannot exhaust the pool. Users
 * take turns, and so do the workspaces of one user: a user does not wait for a thousand deletions of another user, and a small
 * workspace does not wait for a large one. The only persistent state is `deleted_at`: after a crash the next start, or another
 * instance, continues where this one stopped. Concurrent runs are safe.
 */
@Injectable()
export class WorkspacePurge
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly steps: PurgeStep[] = [];
  private readonly waiting = new PurgeQueue();
  /** The step of each workspace's last batch. */
  private readonly reached = new Map<string, number>();
  private working: Promise<void> | undefined;
  private isStopping = false;
  private draining: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly sweeper: BlobSweeper,
    private readonly clock: Clock,
    private readonly background: Background,
    private readonly log: Log,
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
  ) {}

  /** Registers a step for a module's own rows of workspaces, during set-up; blobs and the workspace row are deleted last. */
  addStep(step: PurgeStep): void {
    this.steps.push(step);
  }

  /** How many workspaces wait for their next batch. */
  get queued(): number {
    return this.waiting.size;
  }

  /** Queues a workspace for purging; returns at once. */
  begin(workspace: DeletedWorkspace): void {
    if (this.isStopping) return;
    this.waiting.add(workspace);
    this.start();
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.background.isOn) await this.resume();
  }

  /** Queues up to a thousand of the remaining deleted workspaces, alternating between users. */
  @Interval(LOOK_AGAIN_MS)
  async resume(): Promise<void> {
    await this.log.bestEffort('look for deleted workspaces', async () => {
      for (const workspace of await runOnParts<DeletedWorkspace>(this.database, purgeStatements.deleted, [
        TAKEN_UP_AT_ONCE,
      ]))
        this.begin(workspace);
    });
  }

  /**
   * The nightly run: visits every deleted workspace, a thousand at a time, so that workspaces whose blobs a store fails to
   * delete, which are left for later, do not block the others.
   */
  async finish(): Promise<{ purged: number; left: number }> {
    const before = await this.workspaces.countBy(IS_DELETED);
    for await (const page of pagesById(BEFORE_ALL_IDS, TAKEN_UP_AT_ONCE, (above) =>
      this.deletedAbove(above),
    )) {
      for (const workspace of page) this.begin(workspace);
      await this.idle();
      if (this.isStopping) break;
    }
    const left = await this.workspaces.countBy(IS_DELETED);
    return { purged: Math.max(before - left, 0), left };
  }

  /** Resolves when no purge is running. */
  async idle(): Promise<void> {
    while (this.working) await this.working;
  }

  /** Lets the current batch end while requests are still answered. */
  beforeApplicationShutdown(): void {
    this.isStopping = true;
    this.draining = drained(this.idle());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.draining;
  }

  private deletedAbove(id: string): Promise<DeletedWorkspace[]> {
    return this.workspaces.find({
      select: { id: true, userId: true },
      where: { ...IS_DELETED, id: MoreThan(id) },
      order: { id: 'ASC' },
      take: TAKEN_UP_AT_ONCE,
    });
  }

  /** Starts again when a workspace was queued after the run's last check of the queue. */
  private start(): void {
    this.working ??= requestScope
      .exit(() => this.work())
      .finally(() => {
        this.working = undefined;
        if (this.waiting.size > 0 && !this.isStopping) this.start();
      });
  }

  private async work(): Promise<void> {
    while (!this.isStopping) {
      const workspace = this.waiting.next();
      if (!workspace) return;
      await this.log.bestEffort('purge a deleted workspace', async () => {
        if (await this.purgeBatch(workspace.id)) this.waiting.add(workspace);
      });
    }
  }

  /**
   * Runs one batch of the first step that still finds rows, starting with the step of the last batch: a finished step that runs
   * again scans all the rows that it has deleted, until they are vacuumed. Finally all steps run once more. Returns whether there
   * may be more.
   */
  private async purgeBatch(workspaceId: string): Promise<boolean> {
    const first = this.reached.get(workspaceId) ?? 0;
    // After a failure all steps run again: a step may have found rows that refer to what it deletes.
    this.reached.delete(workspaceId);
    for (const [index, step] of this.steps.entries()) {
      if (index < first || (await step(workspaceId)) === 0) continue;
      this.reached.set(workspaceId, index);
      return true;
    }
    if ((await this.sweeper.sweepWorkspace(workspaceId, this.clock.now())) > 0) {
      this.reached.set(workspaceId, this.steps.length);
      return true;
    }
    if (first > 0) return true;
    await this.database.workspaceTransaction(workspaceId, async (tx) => {
      await tx.run(purgeStatements.lockRow, [workspaceId]);
      await tx.run(purgeStatements.removeRow, [workspaceId]);
    });
    return false;
  }
}

/** Deletes workspaces by setting a mark and publishing it after the commit; rows and blobs are purged in the background. */
@Injectable()
export class WorkspaceDeletion {
  constructor(
    private readonly database: Database,
    private readonly purge: WorkspacePurge,
    private readonly bus: EventBus,
    private readonly audit: AuditLog,
  ) {}

  /** When this resolves, the workspace is gone for every caller. Returns whether it existed. */
  async delete(id: string, now: Date, by: Acting): Promise<boolean> {
    const deleted = await this.database.sharedTransaction((tx) => this.mark(tx, id, now, by), id);
    if (deleted) this.announce([deleted]);
    return deleted !== null;
  }

  /** Marks all of a user's workspaces in the transaction that deletes the account. Pass them to `announce` after the commit. */
  markAllOf(tx: Tx, userId: string, now: Date): Promise<DeletedWorkspace[]> {
    return tx.run<DeletedWorkspace>(deletionStatements.deleteAllOfUser, [userId, now]);
  }

  private async mark(tx: Tx, id: string, now: Date, by: Acting): Promise<DeletedWorkspace | null> {
    const workspaces = tx.manager.getRepository(WorkspaceEntity);
    const { affected } = await workspaces.update({ id, deletedAt: IsNull() }, { deletedAt: now });
    if (affected !== 1) return null;
    const { userId, name } = await workspaces.findOneByOrFail({ id }); // the update holds the row
    const details = { workspace: name, workspaceId: id };
    if (userId !== null) await this.audit.record({ action: 'workspace.deleted', userId, ...by, details }, tx);
    return { id, userId };
  }

  /**
   * Ends other work on the workspaces and starts to purge them. Danger: call this only after the commit, because subscribers read
   * the rows.
   */
  announce(workspaces: readonly DeletedWorkspace[]): void {
    for (const workspace of workspaces) {
      this.bus.publish({ topic: WORKSPACE_DELETED, key: workspace.id });
      this.purge.begin(workspace);
    }
  }
}
