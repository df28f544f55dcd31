import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The one-time links in mails, as hashes: the newest of each purpose for each user. A used link stays until it can no longer be
 * sent again, so that a repeated mail does not make it valid again.
 */
export class MailLinks1763600000034 implements MigrationInterface {
  readonly name = 'MailLinks1763600000034';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE mail_links (
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        purpose text NOT NULL CHECK (purpose IN ('reset-password', 'verify-email', 'change-email')),
        token_hash bytea NOT NULL UNIQUE,
        email text NOT NULL,
        requested_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        used_at timestamptz,
        PRIMARY KEY (user_id, purpose)
      );
      CREATE INDEX mail_links_expiry ON mail_links (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE mail_links');
  }
}
