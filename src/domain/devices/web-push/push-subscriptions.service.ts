import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Allow, IsString } from 'class-validator';
import { Repository } from 'typeorm';
import type { Principal } from '../../../access/index.js';
import { lockOwnUser } from '../../auth/index.js';
import { isDeviceId } from '../index.js';
import { Clock } from '../../../platform/clock/index.js';
import { Database } from '../../../platform/database/index.js';
import { notFoundIfPurged } from '../../../platform/http/index.js';
import { Workspaces } from '../../workspaces/index.js';
import { StoredSubscription } from './push-subscription.entity.js';
import { parsePushSubscription } from './push-subscription.js';
import { pushSubscriptionStatements } from './web-push.queries.js';

/** Ownership is checked before the other fields, so this class validates only what that check needs. */
export class SubscribeRequest {
  @IsString()
  workspaceId: string;

  @Allow()
  deviceId?: unknown;

  @Allow()
  endpoint?: unknown;

  @Allow()
  keys?: unknown;
}

/**
 * Beyond this, the least recently renewed subscription is deleted: a change must not make this service flood anybody with pushes.
 */
const MAX_PER_WORKSPACE = 100;

/** For all workspaces of a user; beyond it, the same applies. */
const MAX_PER_USER = 1_000;

/** The devices that want pushes for a workspace, with one subscription each. Stored even while Web Push is off. */
@Injectable()
export class PushSubscriptions {
  constructor(
    @InjectRepository(StoredSubscription) private readonly subscriptions: Repository<StoredSubscription>,
    private readonly workspaces: Workspaces,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * A device's second subscription replaces its first.
   * @throws NotFound for a workspace of somebody else, then BadRequest; Unauthorized when the account has just been deleted
   */
  async subscribe(principal: Principal, request: SubscribeRequest): Promise<void> {
    const workspaceId = await this.workspaces.requireOwned(request.workspaceId, principal);
    const { deviceId, endpoint, p256dh, auth } = parsePushSubscription(request);
    try {
      await this.database.sharedTransaction(async (tx) => {
        await lockOwnUser(tx, principal.userId);
        const { crowdOutOfWorkspace, put, crowdOut } = pushSubscriptionStatements;
        await tx.run(crowdOutOfWorkspace, [workspaceId, deviceId, MAX_PER_WORKSPACE]);
        await tx.run(put, [workspaceId, deviceId, endpoint, p256dh, auth, this.clock.now()]);
        await tx.run(crowdOut, [principal.userId, workspaceId, deviceId, MAX_PER_USER]);
      });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }

  /** Succeeds even if there is none. @throws NotFound for a workspace of somebody else */
  async unsubscribe(principal: Principal, workspaceId: string, deviceId: string): Promise<void> {
    const id = await this.workspaces.requireOwned(workspaceId, principal);
    if (isDeviceId(deviceId)) await this.subscriptions.delete({ workspaceId: id, deviceId });
  }
}
