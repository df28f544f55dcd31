import { Injectable } from '@nestjs/common';
import { Allow, IsString } from 'class-validator';
import type { Principal } from '../access/index.js';
import { lockOwnUser } from '../auth/index.js';
import { isDeviceId, OwedUnsubscriptions } from '../devices/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, type WorkspaceTx } from '../platform/database/index.js';
import { notFoundIfPurged } from '../platform/http/index.js';
import { WorkspaceCatalogue, Workspaces } from '../workspaces/index.js';
import { parsePushSubscription } from './push-subscription.js';

/** @param among a condition for the workspaces */
const surplus = (among: string): string => `WITH surplus AS MATERIALIZED (
       SELECT s.workspace_id, s.device_id FROM workspaces w JOIN push_subscriptions s ON s.workspace_id = w.id
       WHERE ${among}w.user_id = $1 AND w.deleted_at IS NULL AND (s.workspace_id, s.device_id) <> ($2::uuid, $3::text)
       ORDER BY s.updated_at DESC, s.workspace_id, s.device_id OFFSET $4::integer - 1
     )`;

export const pushSubscriptionStatements = {
  /**
   * Deletes a workspace's subscriptions beyond $3, least recently renewed first, but never that of $2. Marking locks many
   * subscriptions in its own order; rows that it has locked are skipped, and stay until the next subscription. A statement of its
   * own: within one that inserts, the engine that distributes tables reads what it has itself written in another format.
   */
  crowdOutOfWorkspace: statement(
    'push_subscriptions.crowd_out_of_workspace',
    `WITH surplus AS MATERIALIZED (
       SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 AND device_id <> $2
       ORDER BY updated_at DESC, device_id OFFSET $3::integer - 1
     ), held AS MATERIALIZED (
       SELECT device_id FROM push_subscriptions
       WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM surplus) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM held)`,
  ),

  /**
   * Stores one subscription per workspace and device. A replaced subscription's pending push, and the time before which the next
   * one may not be sent, are kept; the failures of its endpoint are not.
   */
  put: statement(
    'push_subscriptions.put',
    `INSERT INTO push_subscriptions AS s (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (workspace_id, device_id) DO UPDATE
     SET endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth, updated_at = excluded.updated_at,
         failures = 0,
         not_before = CASE WHEN s.failures = 0 THEN s.not_before END,
         due_at = CASE WHEN s.failures > 0 AND s.due_at IS NOT NULL THEN excluded.updated_at ELSE s.due_at END`,
  ),

  /**
   * Deletes a user's subscriptions beyond $4, least recently renewed first, but never the one of $2 and $3. Skips locked rows;
   * on several nodes it waits for them. There $5 are the user's workspaces.
   */
  crowdOut: statement(
    'push_subscriptions.crowd_out',
    `${surplus('')}, held AS MATERIALIZED (
       SELECT workspace_id, device_id FROM push_subscriptions
       WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM surplus) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM push_subscriptions
     WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM held)`,
    {
      onNodes: `${surplus('w.id = ANY ($5::uuid[]) AND s.workspace_id = ANY ($5::uuid[]) AND ')}
     DELETE FROM push_subscriptions
     WHERE workspace_id = ANY ($5::uuid[]) AND (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM surplus)`,
    },
  ),

  remove: statement(
    'push_subscriptions.remove',
    'DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id = $2',
  ),

  /** Locks in the order of `mark`. */
  purge: statement(
    'push_subscriptions.purge',
    `WITH locked AS MATERIALIZED (
       SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 ORDER BY device_id LIMIT $2 FOR UPDATE
     )
     DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM locked)
     RETURNING device_id`,
  ),
};

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

/** Workspace, device, endpoint, keys, time. */
type SubscriptionValues = readonly [string, string, string, string, string, Date];

/** The devices that want pushes for a workspace, with one subscription each. Stored even while Web Push is off. */
@Injectable()
export class PushSubscriptions {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly catalogue: WorkspaceCatalogue,
    private readonly owed: OwedUnsubscriptions,
  ) {}

  /**
   * A device's second subscription replaces its first.
   * @throws NotFound for a workspace of somebody else, then BadRequest; Unauthorized when the account has just been deleted
   */
  async subscribe(principal: Principal, request: SubscribeRequest): Promise<void> {
    const workspaceId = await this.workspaces.requireOwned(request.workspaceId, principal);
    const { deviceId, endpoint, p256dh, auth } = parsePushSubscription(request);
    const values: SubscriptionValues = [workspaceId, deviceId, endpoint, p256dh, auth, this.clock.now()];
    const bound = [principal.userId, workspaceId, deviceId, MAX_PER_USER];
    try {
      await this.owed.settleOne(workspaceId, deviceId);
      if (this.database.isDistributed)
        // Without the lock of the user, who is on another server: with the account its workspaces are purged, and this row with them.
        await this.database.workspaceTransaction(workspaceId, (tx) => this.put(tx, values));
      else
        await this.database.transaction(async (tx) => {
          await lockOwnUser(tx, principal.userId);
          await this.put(tx, values);
          await tx.run(pushSubscriptionStatements.crowdOut, bound);
        });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
    // Of the node that is away, the surplus stays until the next subscription.
    const ids = await this.catalogue.idsOf(this.database, principal.userId);
    if (!ids) return;
    await this.database.unlessAway(
      () => this.database.run(pushSubscriptionStatements.crowdOut, [...bound, ids]),
      [],
    );
  }

  private async put(tx: WorkspaceTx, values: SubscriptionValues): Promise<void> {
    const [workspaceId, deviceId] = values;
    await tx.run(pushSubscriptionStatements.crowdOutOfWorkspace, [workspaceId, deviceId, MAX_PER_WORKSPACE]);
    await tx.run(pushSubscriptionStatements.put, values);
  }

  /** Succeeds even if there is none. @throws NotFound for a workspace of somebody else */
  async unsubscribe(principal: Principal, workspaceId: string, deviceId: string): Promise<void> {
    const id = await this.workspaces.requireOwned(workspaceId, principal);
    if (isDeviceId(deviceId)) await this.database.run(pushSubscriptionStatements.remove, [id, deviceId]);
  }
}
