import { Injectable } from '@nestjs/common';
import { EventBus } from '../../platform/events/index.js';
import { type Counter, Metrics } from '../../platform/metrics/index.js';
import { CHANGES, type Committed, type LoggedChange } from '../workspaces/index.js';

export type ChangeKind = 'create' | 'update' | 'restore' | 'delete';

/** Every writer of the log announces its commits here: uploads, deletions, pushes and restores. */
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
   * Call it after COMMIT.
   * @param deviceId the device that made the changes and is not notified, or null
   * @param count the number of changes, all of one kind
   */
  changed(workspaceId: string, deviceId: string | null, kind: ChangeKind, count = 1): void {
    this.tell(workspaceId, kind, count, { by: deviceId });
  }

  /**
   * Like `changed`, but for a single change, passed along as logged so that live rooms on this instance need not read
   * it. Danger: if called before COMMIT and the write is rolled back, it hides the change that gets this cursor
   * later.
   */
  logged(workspaceId: string, kind: ChangeKind, change: LoggedChange): void {
    this.tell(workspaceId, kind, 1, { by: change.changedByDevice, change });
  }

  /** Like `changed`, for changes of several kinds that one device has made. */
  changedAll(workspaceId: string, deviceId: string, kinds: readonly ChangeKind[]): void {
    for (const kind of kinds) this.changes.add({ kind }, 1);
    if (kinds.length > 0) this.announce(workspaceId, { by: deviceId });
  }

  private tell(workspaceId: string, kind: ChangeKind, count: number, committed: Committed): void {
    this.changes.add({ kind }, count);
    this.announce(workspaceId, committed);
  }

  private announce(workspaceId: string, committed: Committed): void {
    this.bus.publish({ topic: CHANGES, key: workspaceId }, committed);
  }
}
