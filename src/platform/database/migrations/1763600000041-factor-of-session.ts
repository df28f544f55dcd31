import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `auth_sessions.factor_at`: when a code or a passkey was last given in the session; null for sessions of earlier versions, and
 * for those that know only a password.
 */
export class FactorOfSession1763600000041 implements MigrationInterface {
  readonly name = 'FactorOfSession1763600000041';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE auth_sessions ADD COLUMN factor_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE auth_sessions DROP COLUMN factor_at');
  }
}
