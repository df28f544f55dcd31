import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What retention has yet to look at. `retention_marks` has how far it has read the log of each workspace, under which rule,
 * and whether a checkpoint has been deleted since; `retention_queue` has the files whose versions will be superseded, with the
 * time from which. Both are empty at first: the next run looks at every workspace once and fills them.
 *
 * No column of `workspaces`: adding one would wait for a backup, which reads the table for hours, and hold up everybody else.
 */
export class DueVersions1763600000049 implements MigrationInterface {
  readonly name = 'DueVersions1763600000049';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE retention_marks (
        workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
        cursor bigint NOT NULL,
        rule text NOT NULL,
        has_unpinned boolean NOT NULL DEFAULT false
      );

      CREATE TABLE retention_queue (
        workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
        file_id uuid NOT NULL,
        due_at timestamptz NOT NULL,
        is_pinned boolean NOT NULL DEFAULT false,
        revision bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (workspace_id, file_id)
      );
      CREATE INDEX retention_queue_due ON retention_queue (workspace_id, due_at, file_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE retention_queue; DROP TABLE retention_marks');
  }
}
