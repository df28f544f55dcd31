import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { BlobSweeper } from '../platform/blobs/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';

/** Removes a bounded number of a deleted workspace's rows; says how many went, 0 when none is left. */
export type PurgeStep = (workspaceId: string) => Promise<number>;

const LOOK_AGAIN_MS = 60_000;

const deleted = statement(
  'workspaces.deleted',
  'SELECT id FROM workspaces WHERE deleted_at IS NOT NULL ORDER BY deleted_at',
);
const removeRow = statement(
  'workspaces.remove_row',
  `DELETE FROM workspaces w WHERE id = $1 AND deleted_at IS NOT NULL
     AND NOT EXISTS (SELECT FROM blobs b WHERE b.workspace_id = w.id)
   RETURNING id`,
);

/**
 * Empties deleted workspaces in the background, in bounded batches. The mark `deleted_at` is the whole of its memory:
 * after a crash the next start, or any other instance, goes on where this one stopped. Running twice at once is safe.
 */
@Injectable()
export class WorkspacePurge implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly steps: PurgeStep[] = [];
  private readonly running = new Map<string, Promise<void>>();
  private isStopping = false;

  constructor(
    private readonly database: Database,
    private readonly sweeper: BlobSweeper,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** The modules that keep rows of workspaces add how to remove theirs, at set-up; blobs and the row itself go last. */
  addStep(step: PurgeStep): void {
    this.steps.push(step);
  }

  /** Starts emptying a workspace; returns at once. */
  begin(workspaceId: string): void {
    if (this.isStopping || this.running.has(workspaceId)) return;
    const run = this.log
      .bestEffort('purge a deleted workspace', () => this.purge(workspaceId))
      .finally(() => this.running.delete(workspaceId));
    this.running.set(workspaceId, run);
  }

  onApplicationBootstrap(): Promise<void> {
    return this.resume();
  }

  /** Takes up every deleted workspace that is still there. */
  @Interval(LOOK_AGAIN_MS)
  async resume(): Promise<void> {
    await this.log.bestEffort('look for deleted workspaces', async () => {
      for (const { id } of await this.database.run<{ id: string }>(deleted, [])) this.begin(id);
    });
  }

  /** Resolves when no purge is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.running.values());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.idle();
  }

  private async purge(workspaceId: string): Promise<void> {
    const sweepBlobs: PurgeStep = (id) => this.sweeper.sweepWorkspace(id, this.clock.now());
    for (const step of [...this.steps, sweepBlobs]) {
      while ((await step(workspaceId)) > 0) if (this.isStopping) return;
    }
    await this.database.run(removeRow, [workspaceId]);
  }
}
