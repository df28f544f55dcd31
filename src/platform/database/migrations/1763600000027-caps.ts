import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What caps are counted by: access tokens that are not revoked, and the one-time tokens of a session. The latter by hash, for
 * the identity library may keep a value of any length there.
 */
export class Caps1763600000027 implements MigrationInterface {
  readonly name = 'Caps1763600000027';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX access_tokens_unrevoked ON access_tokens (user_id, id) INCLUDE (expires_at) WHERE revoked_at IS NULL;
      CREATE INDEX auth_verifications_value ON auth_verifications USING hash (value);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX access_tokens_unrevoked, auth_verifications_value');
  }
}
