import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Mails that a user has turned off, by kind: a row for each. */
export class MutedNotices1763600000039 implements MigrationInterface {
  readonly name = 'MutedNotices1763600000039';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE muted_notices (
        user_id uuid NOT NULL,
        notice text NOT NULL,
        muted_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, notice),
        CONSTRAINT muted_notices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE muted_notices');
  }
}
