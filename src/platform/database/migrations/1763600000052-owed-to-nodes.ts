import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is still to be done to workspaces on nodes after an account or a device was deleted: mark them as deleted, or remove the
 * device's push subscription. On one server both tables stay empty. No foreign key: workspaces are on other servers.
 */
export class OwedToNodes1763600000052 implements MigrationInterface {
  readonly name = 'OwedToNodes1763600000052';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE owed_unsubscriptions;
      DROP TABLE owed_deletions;
    `);
  }
}
