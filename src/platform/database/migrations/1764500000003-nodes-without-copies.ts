import type { MigrationInterface, QueryRunner } from 'typeorm';
import { underTableLocks } from './table-locks.js';

interface OwedDeletion {
  readonly workspace_id: string;
  readonly deleted_at: Date;
}

interface OwedUnsubscription {
  readonly workspace_id: string;
  readonly device_id: string;
}

/**
 * Drops what the coordinator of a distributed database kept for unavailable nodes: a copy of the workspaces, and changes owed to
 * the nodes (docs/adr/0054-the-engine-distributes.md). Applies the changes still owed. On a single server the tables are empty.
 */
export class NodesWithoutCopies1764500000003 implements MigrationInterface {
  readonly name = 'NodesWithoutCopies1764500000003';

  async up(runner: QueryRunner): Promise<void> {
    await underTableLocks(runner, ['users', 'workspace_catalogue', 'owed_deletions', 'owed_unsubscriptions']);
    for (const { workspace_id, deleted_at } of (await runner.query(
      'SELECT workspace_id, deleted_at FROM owed_deletions',
    )) as OwedDeletion[])
      await runner.query(
        'UPDATE workspaces SET deleted_at = coalesce(deleted_at, $2), user_id = NULL WHERE id = $1',
        [workspace_id, deleted_at],
      );
    for (const { workspace_id, device_id } of (await runner.query(
      'SELECT workspace_id, device_id FROM owed_unsubscriptions',
    )) as OwedUnsubscription[])
      await runner.query('DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id = $2', [
        workspace_id,
        device_id,
      ]);
    await runner.query('DROP TABLE workspace_catalogue, owed_deletions, owed_unsubscriptions');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE workspace_catalogue (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL CONSTRAINT workspace_catalogue_user_id_fkey REFERENCES users ON DELETE CASCADE,
        name text NOT NULL,
        encryption_salt text,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL
      );
      CREATE INDEX workspace_catalogue_of_user ON workspace_catalogue (user_id, id);
      CREATE TABLE owed_deletions (
        workspace_id uuid PRIMARY KEY,
        deleted_at timestamptz NOT NULL
      );
      CREATE TABLE owed_unsubscriptions (
        workspace_id uuid NOT NULL,
        device_id text NOT NULL,
        PRIMARY KEY (workspace_id, device_id)
      );
    `);
  }
}
