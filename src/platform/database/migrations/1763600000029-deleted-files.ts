import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * By which the trash is listed. It is built while others write, and what a crash has left of it is built anew. It ends when all
 * transactions that were open have ended: `CountedDocuments1763600000030` relies on that.
 */
export class DeletedFiles1763600000029 implements MigrationInterface {
  readonly name = 'DeletedFiles1763600000029';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS files_deleted');
    await runner.query(
      'CREATE INDEX CONCURRENTLY files_deleted ON files (workspace_id, id) WHERE is_deleted',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX files_deleted');
  }
}
