import { Injectable } from '@nestjs/common';
import { EventBus } from '../platform/events/index.js';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import { CHANGES, type Committed, type LoggedChange } from '../workspaces/index.js';

/** What a change does to a file. */
export type ChangeKind = 'create' | 'update' | 'restore' | 'delete';

/** Where every write of the log says that it was committed: uploads, deletions, pushes and restores alike. */
@Injectable()
export class ChangePublisher {
  private readonly changes: Counter;

  constructor(
    private readonly bus: EventBus,
    metrics: Metrics,
  ) {
    this.changes = metrics.counter('cloud_sync_changes_total', 'Changes written to logs', ['kind']);
  }

  /**
   * To be called after COMMIT.
   * @param deviceId who made the changes and need not be told, or null
   * @param count how many they are, all of one kind
   */
  changed(workspaceId: string, deviceId: string | null, kind: ChangeKind, count = 1): void {
    this.tell(workspaceId, kind, count, { by: deviceId });
  }

  /**
   * The same of one change as the log has it, so that rooms here need not read it there. Danger: before COMMIT it would hide
   * the change that gets this cursor if the write is rolled back.
   */
  logged(workspaceId: string, kind: ChangeKind, change: LoggedChange): void {
    this.tell(workspaceId, kind, 1, { by: change.changedByDevice, change });
  }

  private tell(workspaceId: string, kind: ChangeKind, count: number, committed: Committed): void {
    this.changes.add({ kind }, count);
    this.bus.publish({ topic: CHANGES, key: workspaceId }, committed);
  }
}
