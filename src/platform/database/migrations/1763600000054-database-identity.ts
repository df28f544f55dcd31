import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The id by which a place of backups knows the database that it belongs to; at most one row, which the first backup inserts. A
 * restored database has none of its own yet, because the table is left out of backups.
 */
export class DatabaseIdentity1763600000054 implements MigrationInterface {
  readonly name = 'DatabaseIdentity1763600000054';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE database_identity (
        is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
        id uuid NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE database_identity');
  }
}
