import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * For databases whose workspaces are on several nodes; on one server both tables stay empty. `workspace_catalogue` has what lists
 * of workspaces show, so that a list needs no node. The engine knows `shared_commits`: a transaction that deletes from it, even
 * nothing, is committed on a node and on the coordinator together. The index finds the suspended users.
 */
export class WorkspacesBesideNodes1763600000051 implements MigrationInterface {
  readonly name = 'WorkspacesBesideNodes1763600000051';

  async up(runner: QueryRunner): Promise<void> {
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
      CREATE TABLE shared_commits (id integer PRIMARY KEY);
      CREATE INDEX users_suspended ON users (id) WHERE suspended_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX users_suspended;
      DROP TABLE shared_commits;
      DROP TABLE workspace_catalogue;
    `);
  }
}
