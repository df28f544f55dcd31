import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `users.promoted_at`: since when the user is an administrator. `invitations`: at most one for an address; the row has the
 * SHA-256 of the link's token. `doctor_runs`: the last checks that administrators have started. `audit_events.user_id` is null
 * for what was done to the service.
 */
export class Administrators1763600000037 implements MigrationInterface {
  readonly name = 'Administrators1763600000037';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users ADD COLUMN promoted_at timestamptz;
      ALTER TABLE audit_events ALTER COLUMN user_id DROP NOT NULL;

      CREATE TABLE invitations (
        email text PRIMARY KEY,
        token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
        created_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX invitations_expires_at ON invitations (expires_at);

      CREATE TABLE doctor_runs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        started_at timestamptz NOT NULL,
        ended_at timestamptz,
        found integer,
        findings jsonb NOT NULL DEFAULT '[]',
        error text
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE doctor_runs, invitations');
    await runner.query('DELETE FROM audit_events WHERE user_id IS NULL');
    await runner.query('ALTER TABLE audit_events ALTER COLUMN user_id SET NOT NULL');
    await runner.query('ALTER TABLE users DROP COLUMN promoted_at');
  }
}
