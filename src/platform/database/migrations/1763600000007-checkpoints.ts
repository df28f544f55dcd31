import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Named markers into the change log. The label is the client's ciphertext and is never looked at. */
export class Checkpoints1763600000007 implements MigrationInterface {
  readonly name = 'Checkpoints1763600000007';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE checkpoints (
        workspace_id uuid NOT NULL REFERENCES workspaces (id),
        id uuid NOT NULL,
        encrypted_label text NOT NULL CHECK (length(encrypted_label) BETWEEN 1 AND 8192),
        kind text NOT NULL CHECK (kind IN ('manual', 'auto')),
        cursor bigint NOT NULL CHECK (cursor >= 0),
        created_at timestamptz NOT NULL,
        PRIMARY KEY (workspace_id, id)
      );
      CREATE INDEX checkpoints_in_order ON checkpoints (workspace_id, cursor DESC, created_at DESC, id DESC);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE checkpoints');
  }
}
