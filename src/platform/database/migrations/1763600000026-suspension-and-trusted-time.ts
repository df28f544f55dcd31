import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `users.suspended_at`: when the operator suspended the account; null while it is not. `trusted_time`, one row at most: up
 * to which time the deployment is known to have lived, and since when a clock that is far ahead of it has been doubted.
 * It starts from what earlier versions wrote, so that a wrong clock at the start of this one is noticed as well.
 */
export class SuspensionAndTrustedTime1763600000026 implements MigrationInterface {
  readonly name = 'SuspensionAndTrustedTime1763600000026';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users ADD COLUMN suspended_at timestamptz;

      CREATE TABLE trusted_time (
        id boolean PRIMARY KEY DEFAULT true CHECK (id),
        trusted_until timestamptz NOT NULL,
        doubted_from timestamptz,
        doubted_until timestamptz
      );
      INSERT INTO trusted_time (trusted_until)
      SELECT as_of FROM (
        SELECT greatest(
          (SELECT max(started_at) FROM job_runs),
          (SELECT max(updated_at) FROM auth_sessions),
          (SELECT max(created_at) FROM users)
        ) AS as_of
      ) evidence WHERE as_of IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE trusted_time');
    await runner.query('ALTER TABLE users DROP COLUMN suspended_at');
  }
}
