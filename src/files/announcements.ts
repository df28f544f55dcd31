import { Injectable } from '@nestjs/common';
import { EventBus } from '../platform/events/index.js';
import { CHANGES } from '../workspaces/index.js';

/** Where every write of the log says that it was committed: uploads, deletions, pushes and restores alike. */
@Injectable()
export class Announcements {
  constructor(private readonly bus: EventBus) {}

  /** To be called after COMMIT. @param deviceId who made the change and need not be told, or null */
  changed(workspaceId: string, deviceId: string | null): void {
    this.bus.publish({ topic: CHANGES, key: workspaceId }, deviceId ?? undefined);
  }
}
