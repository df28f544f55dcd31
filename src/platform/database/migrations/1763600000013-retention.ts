import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How far retention has come, and what outlives its account: a deleted user's workspaces stay without an owner until
 * they are purged, so that the user's own row can go at once.
 */
export class Retention1763600000013 implements MigrationInterface {
  readonly name = 'Retention1763600000013';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE retention_progress (
        id boolean PRIMARY KEY DEFAULT true CHECK (id),
        as_of timestamptz NOT NULL
      );

      ALTER TABLE workspaces
        ALTER COLUMN user_id DROP NOT NULL,
        ADD CONSTRAINT workspaces_owner CHECK (user_id IS NOT NULL OR deleted_at IS NOT NULL),
        DROP CONSTRAINT workspaces_user_id_fkey,
        ADD CONSTRAINT workspaces_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL;
      CREATE INDEX workspaces_of_user ON workspaces (user_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX workspaces_of_user;
      ALTER TABLE workspaces
        DROP CONSTRAINT workspaces_user_id_fkey,
        ADD CONSTRAINT workspaces_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id),
        DROP CONSTRAINT workspaces_owner,
        ALTER COLUMN user_id SET NOT NULL;
      DROP TABLE retention_progress;
    `);
  }
}
