import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';

export const catalogueStatements = {
  /** Run this under the lock of the user. A row when the user has $2 workspaces. */
  isFull: statement(
    'workspace_catalogue.is_full',
    'SELECT 1 AS one FROM workspace_catalogue WHERE user_id = $1 OFFSET $2::integer - 1 LIMIT 1',
  ),

  add: statement(
    'workspace_catalogue.add',
    `INSERT INTO workspace_catalogue (id, user_id, name, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)`,
  ),

  /** Null leaves a column as it is. */
  change: statement(
    'workspace_catalogue.change',
    `UPDATE workspace_catalogue
     SET name = coalesce($2, name), encryption_salt = coalesce($3, encryption_salt), updated_at = $4 WHERE id = $1`,
  ),

  remove: statement(
    'workspace_catalogue.remove',
    'DELETE FROM workspace_catalogue WHERE id = ANY ($1::uuid[])',
  ),

  /** The other live workspaces of the owner of $1. */
  siblings: statement(
    'workspace_catalogue.siblings',
    `SELECT id FROM workspace_catalogue
     WHERE user_id = (SELECT user_id FROM workspace_catalogue WHERE id = $1) AND id <> $1 ORDER BY id`,
  ),

  idsOf: statement(
    'workspace_catalogue.ids_of',
    'SELECT id FROM workspace_catalogue WHERE user_id = $1 ORDER BY id',
  ),
};

/** A workspace as it stands in lists, without what cannot change on creation. */
interface Added {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly createdAt: Date;
}

/**
 * What lists show of the live workspaces, beside the accounts, where workspaces are on nodes: a list that left out those of a node
 * that is away would tell clients that they are deleted. Changes go with those of the workspace's own row, after it and in the same
 * `Database.sharedTransaction`. On one server there is none, and nothing is done.
 */
@Injectable()
export class WorkspaceCatalogue {
  constructor(private readonly database: Database) {}

  /** Whether the user has the maximum. False on one server, where the workspaces themselves are counted. */
  async isFull(tx: Tx, userId: string, maximum: number): Promise<boolean> {
    if (!this.database.isDistributed) return false;
    return (await tx.run(catalogueStatements.isFull, [userId, maximum])).length > 0;
  }

  async add(tx: Tx, { id, userId, name, createdAt }: Added): Promise<void> {
    if (this.database.isDistributed) await tx.run(catalogueStatements.add, [id, userId, name, createdAt]);
  }

  async change(
    tx: Tx,
    id: string,
    {
      name,
      encryptionSalt,
      updatedAt,
    }: { name: string | null; encryptionSalt: string | null; updatedAt: Date },
  ): Promise<void> {
    if (!this.database.isDistributed) return;
    await tx.run(catalogueStatements.change, [id, name, encryptionSalt, updatedAt]);
  }

  async remove(tx: Tx, ids: readonly string[]): Promise<void> {
    if (this.database.isDistributed && ids.length > 0) await tx.run(catalogueStatements.remove, [ids]);
  }

  /** The other live workspaces of the owner of a workspace. */
  async siblingsOf(workspaceId: string): Promise<string[]> {
    const rows = await this.database.run<{ id: string }>(catalogueStatements.siblings, [workspaceId]);
    return rows.map(({ id }) => id);
  }

  /** The user's live workspaces, for statements that are to go to their nodes alone; undefined on one server. */
  async idsOf(on: Pick<Tx, 'run'>, userId: string): Promise<string[] | undefined> {
    if (!this.database.isDistributed) return undefined;
    const rows = await on.run<{ id: string }>(catalogueStatements.idsOf, [userId]);
    return rows.map(({ id }) => id);
  }

  /** @throws NodeAway at once when a node that has one of the user's workspaces is known to be away */
  async refuseAway(userId: string): Promise<void> {
    const ids = await this.idsOf(this.database, userId);
    const [away] = ids ? (await this.database.byNode(ids)).away : [];
    if (away !== undefined) await this.database.refuseAway(away);
  }
}
