import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * By which a push finds what a device has deleted, without reading the other changes of a file. Uploads do not write it. It is
 * built while others write, and what a crash has left of it is built again.
 */
export class DeletionsOfFiles1763600000050 implements MigrationInterface {
  readonly name = 'DeletionsOfFiles1763600000050';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS changes_deletions');
    await runner.query(
      `CREATE INDEX CONCURRENTLY changes_deletions ON changes (workspace_id, file_id, cursor) WHERE action = 'delete'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX changes_deletions');
  }
}
