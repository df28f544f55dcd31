import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { ServiceUnavailable } from '../platform/http/index.js';
import { type Debt, OwedToNodes } from '../workspaces/index.js';

export const owedUnsubscriptionStatements = {
  /** A row when $2 are owed to the workspaces of user $1. */
  isFull: statement(
    'owed_unsubscriptions.is_full',
    `SELECT 1 AS one FROM workspace_catalogue c JOIN owed_unsubscriptions o ON o.workspace_id = c.id
     WHERE c.user_id = $1 OFFSET $2::integer - 1 LIMIT 1`,
  ),

  /** To all workspaces of user $1. */
  owe: statement(
    'owed_unsubscriptions.owe',
    `INSERT INTO owed_unsubscriptions (workspace_id, device_id)
     SELECT id, $2 FROM workspace_catalogue WHERE user_id = $1 RETURNING workspace_id AS id`,
  ),

  page: statement(
    'owed_unsubscriptions.page',
    `SELECT DISTINCT workspace_id AS id FROM owed_unsubscriptions WHERE workspace_id > $1
     ORDER BY workspace_id LIMIT $2`,
  ),

  one: statement(
    'owed_unsubscriptions.one',
    'SELECT 1 AS one FROM owed_unsubscriptions WHERE workspace_id = $1 AND device_id = $2',
    { isOfWorkspace: false },
  ),

  take: statement(
    'owed_unsubscriptions.take',
    `DELETE FROM owed_unsubscriptions WHERE workspace_id = ANY ($1::uuid[])
     RETURNING workspace_id AS "workspaceId", device_id AS "deviceId"`,
  ),

  /** Devices $2 of workspaces $1; both lists are as long. */
  settle: statement(
    'owed_unsubscriptions.settle',
    `DELETE FROM push_subscriptions WHERE workspace_id = ANY ($1::uuid[])
       AND (workspace_id, device_id) IN (SELECT w, d FROM unnest($1::uuid[], $2::text[]) AS gone (w, d))`,
  ),
};

interface Owed {
  readonly workspaceId: string;
  readonly deviceId: string;
}

/** Beyond this, an account must wait for the node: its deletions would fill the coordinator. */
const MAX_OWED = 10_000;

/**
 * Push subscriptions of deleted devices, on nodes. Until they are removed, no push is sent to them and a
 * new one of the same device waits.
 */
@Injectable()
export class OwedUnsubscriptions implements Debt {
  readonly what = 'remove the push subscriptions of deleted devices';
  readonly page = owedUnsubscriptionStatements.page;

  constructor(
    private readonly database: Database,
    private readonly owed: OwedToNodes,
  ) {
    owed.add(this);
  }

  /**
   * Run this in the transaction that deletes the device; returns the ids of workspaces for `settleSoon` after the commit.
   * @throws ServiceUnavailable when too many are owed to the account
   */
  async owe(tx: Tx, userId: string, deviceId: string): Promise<string[]> {
    if ((await tx.run(owedUnsubscriptionStatements.isFull, [userId, MAX_OWED])).length > 0)
      throw new ServiceUnavailable();
    const rows = await tx.run<{ id: string }>(owedUnsubscriptionStatements.owe, [userId, deviceId]);
    return rows.map(({ id }) => id);
  }

  /** Never fails, and waits for no node that is silent. */
  settleSoon(workspaceIds: readonly string[]): Promise<void> {
    return this.owed.settleSoon(this, workspaceIds);
  }

  /**
   * Before the device subscribes anew: what is owed must not remove the new subscription. Whoever removes a row holds it until the
   * subscription is gone, so no row means that nothing can be removed any more.
   */
  async settleOne(workspaceId: string, deviceId: string): Promise<void> {
    if (!this.database.isDistributed) return;
    const owed = await this.database.run(owedUnsubscriptionStatements.one, [workspaceId, deviceId]);
    if (owed.length > 0) await this.settle([workspaceId]);
  }

  async settle(workspaceIds: readonly string[]): Promise<void> {
    if (!this.database.isDistributed) return;
    await this.database.sharedTransaction(async (tx) => {
      const owed = await tx.run<Owed>(owedUnsubscriptionStatements.take, [workspaceIds]);
      if (owed.length === 0) return;
      const workspaces = owed.map(({ workspaceId }) => workspaceId);
      const devices = owed.map(({ deviceId }) => deviceId);
      await tx.run(owedUnsubscriptionStatements.settle, [workspaces, devices]);
    }, workspaceIds[0]);
  }
}
