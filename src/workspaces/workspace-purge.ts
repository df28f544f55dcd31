import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { BlobSweeper } from '../platform/blobs/index.js';
import { Clock, drained } from '../platform/clock/index.js';
import { BEFORE_ALL_IDS, Database, statement } from '../platform/database/index.js';
import { Background } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';

/** Removes a bounded number of a deleted workspace's rows; says how many went, 0 when none is left. */
export type PurgeStep = (workspaceId: string) => Promise<number>;

const LOOK_AGAIN_MS = 60_000;
const TAKEN_UP_AT_ONCE = 1000;

const deleted = statement(
  'workspaces.deleted',
  'SELECT id FROM workspaces WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT $1',
);
const deletedAbove = statement(
  'workspaces.deleted_above',
  'SELECT id FROM workspaces WHERE deleted_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2',
);
const countDeleted = statement(
  'workspaces.count_deleted',
  'SELECT count(*) AS workspaces FROM workspaces WHERE deleted_at IS NOT NULL',
);
const removeRow = statement(
  'workspaces.remove_row',
  `DELETE FROM workspaces w WHERE id = $1 AND deleted_at IS NOT NULL
     AND NOT EXISTS (SELECT FROM blobs b WHERE b.workspace_id = w.id)
   RETURNING id`,
);

/**
 * Empties deleted workspaces in the background: one bounded batch at a time, in turns, so that many deletions cannot
 * starve the pool and a small workspace does not wait for a large one. The mark `deleted_at` is the whole of its memory:
 * after a crash the next start, or any other instance, goes on where this one stopped. Running twice at once is safe.
 */
@Injectable()
export class WorkspacePurge
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly steps: PurgeStep[] = [];
  private readonly waiting = new Set<string>();
  private working: Promise<void> | undefined;
  private isStopping = false;
  private draining: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly sweeper: BlobSweeper,
    private readonly clock: Clock,
    private readonly background: Background,
    private readonly log: Log,
  ) {}

  /** The modules that keep rows of workspaces add how to remove theirs, at set-up; blobs and the row itself go last. */
  addStep(step: PurgeStep): void {
    this.steps.push(step);
  }

  /** Starts emptying a workspace; returns at once. */
  begin(workspaceId: string): void {
    if (this.isStopping) return;
    this.waiting.add(workspaceId);
    this.start();
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.background.isOn) await this.resume();
  }

  /** Takes up deleted workspaces that are still there, the oldest thousand. */
  @Interval(LOOK_AGAIN_MS)
  async resume(): Promise<void> {
    await this.log.bestEffort('look for deleted workspaces', async () => {
      for (const { id } of await this.database.run<{ id: string }>(deleted, [TAKEN_UP_AT_ONCE]))
        this.begin(id);
    });
  }

  /**
   * The nightly run: comes by every deleted workspace, a thousand at a time, so that those that a store keeps, which
   * are left for later, are in nobody's way.
   */
  async finish(): Promise<{ purged: number; left: number }> {
    const before = await this.countDeleted();
    for (let above: string | undefined = BEFORE_ALL_IDS; above !== undefined && !this.isStopping;) {
      const page: { id: string }[] = await this.database.run(deletedAbove, [above, TAKEN_UP_AT_ONCE]);
      for (const { id } of page) this.begin(id);
      await this.idle();
      above = page.at(-1)?.id;
    }
    const left = await this.countDeleted();
    return { purged: Math.max(before - left, 0), left };
  }

  /** Resolves when no purge is under way. */
  async idle(): Promise<void> {
    while (this.working) await this.working;
  }

  /** The batch under way ends while requests are still answered. */
  beforeApplicationShutdown(): void {
    this.isStopping = true;
    this.draining = drained(this.idle());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.draining;
  }

  private async countDeleted(): Promise<number> {
    const [row] = await this.database.run<{ workspaces: number }>(countDeleted, []);
    return row?.workspaces ?? 0;
  }

  /** Also for what comes after the last look at what waits, and before the end of the run is known. */
  private start(): void {
    this.working ??= this.work().finally(() => {
      this.working = undefined;
      if (this.waiting.size > 0 && !this.isStopping) this.start();
    });
  }

  private async work(): Promise<void> {
    for (let [id] = this.waiting; id !== undefined && !this.isStopping; [id] = this.waiting) {
      const workspaceId = id;
      this.waiting.delete(workspaceId);
      await this.log.bestEffort('purge a deleted workspace', async () => {
        if (await this.purgeBatch(workspaceId)) this.waiting.add(workspaceId);
      });
    }
  }

  /** One batch of the first step that still finds something; whether there may be more. */
  private async purgeBatch(workspaceId: string): Promise<boolean> {
    for (const step of this.steps) if ((await step(workspaceId)) > 0) return true;
    if ((await this.sweeper.sweepWorkspace(workspaceId, this.clock.now())) > 0) return true;
    await this.database.run(removeRow, [workspaceId]);
    return false;
  }
}
