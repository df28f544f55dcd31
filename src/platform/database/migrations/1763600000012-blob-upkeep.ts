import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What keeps the blobs in order. `claimed_until` keeps two sweepers off one blob. `blob_leftovers` are bytes that no
 * row of `blobs` names, but that a move between stores has made or left, or will: they are known before they are
 * written and until they are removed. No foreign key: they outlive blob and workspace.
 */
export class BlobUpkeep1763600000012 implements MigrationInterface {
  readonly name = 'BlobUpkeep1763600000012';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE blobs ADD COLUMN claimed_until timestamptz;
      CREATE INDEX blobs_stored ON blobs (location, workspace_id, id) WHERE location <> 'inline';

      CREATE TABLE blob_leftovers (
        location text NOT NULL CHECK (location IN ('disk', 's3')),
        workspace_id uuid NOT NULL,
        id uuid NOT NULL,
        state text NOT NULL CHECK (state IN ('copying', 'dying')),
        not_before timestamptz NOT NULL,
        claimed_until timestamptz,
        PRIMARY KEY (location, workspace_id, id)
      );
      CREATE INDEX blob_leftovers_due ON blob_leftovers (not_before);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE blob_leftovers;
      DROP INDEX blobs_stored;
      ALTER TABLE blobs DROP COLUMN claimed_until;
    `);
  }
}
