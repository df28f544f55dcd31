import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `head_cursor` is the change log's head and, by its row lock, what orders all writes of a workspace.
 * `live_files` is kept beside it because counting 100,000 rows takes 20 ms. fillfactor leaves room for updates in place.
 */
export class Workspaces1763600000003 implements MigrationInterface {
  readonly name = 'Workspaces1763600000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE workspaces (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL REFERENCES users (id),
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        encryption_salt text CHECK (encryption_salt ~ '^[0-9a-f]{64}$'),
        verification_hash text CHECK (verification_hash ~ '^[0-9a-f]{64}$'),
        verification_salt text CHECK (verification_salt ~ '^[0-9a-f]{32,128}$'),
        head_cursor bigint NOT NULL DEFAULT 0 CHECK (head_cursor >= 0),
        live_files bigint NOT NULL DEFAULT 0 CHECK (live_files >= 0),
        compaction_floor bigint,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        deleted_at timestamptz,
        CHECK ((encryption_salt IS NULL) = (verification_hash IS NULL)),
        CHECK ((encryption_salt IS NULL) = (verification_salt IS NULL))
      ) WITH (fillfactor = 50);
      CREATE INDEX workspaces_user_id ON workspaces (user_id, id) WHERE deleted_at IS NULL;
      CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE workspaces');
  }
}
