import { Injectable } from '@nestjs/common';
import type { Principal } from '../access/index.js';
import { isDeviceId } from '../devices/index.js';
import { lockOwnUser } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { notFoundIfPurged } from '../platform/http/index.js';
import { Workspaces } from '../workspaces/index.js';
import type { SubscribeRequest } from './push-subscriptions.dto.js';
import { parsePushSubscription } from './push-subscription.js';
import { pushSubscriptionStatements } from './push-subscriptions.queries.js';

/** Beyond, the one that was renewed longest ago goes: a change must not make this service flood somebody with pushes. */
const MAX_PER_WORKSPACE = 100;

/** Of all workspaces of a user; beyond, likewise. */
const MAX_PER_USER = 1_000;

/** Which devices want to be woken for a workspace; one subscription each. Kept also while Web Push is off. */
@Injectable()
export class PushSubscriptions {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * A device's second subscription replaces its first.
   * @throws NotFound for another's workspace, then BadRequest; Unauthorized when the account has just gone
   */
  async subscribe(principal: Principal, request: SubscribeRequest): Promise<void> {
    const workspaceId = await this.workspaces.requireOwned(request.workspaceId, principal);
    const { deviceId, endpoint, p256dh, auth } = parsePushSubscription(request);
    const values = [workspaceId, deviceId, endpoint, p256dh, auth, this.clock.now(), MAX_PER_WORKSPACE];
    try {
      await this.database.transaction(async (tx) => {
        await lockOwnUser(tx, principal.userId);
        await tx.run(pushSubscriptionStatements.put, values);
        const bound = [principal.userId, workspaceId, deviceId, MAX_PER_USER];
        await tx.run(pushSubscriptionStatements.crowdOut, bound);
      });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }

  /** Also when there is none. @throws NotFound for another's workspace */
  async unsubscribe(principal: Principal, workspaceId: string, deviceId: string): Promise<void> {
    const id = await this.workspaces.requireOwned(workspaceId, principal);
    if (isDeviceId(deviceId)) await this.database.run(pushSubscriptionStatements.remove, [id, deviceId]);
  }
}
