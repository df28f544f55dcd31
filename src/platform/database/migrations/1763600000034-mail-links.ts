import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The one-time links in mails, as hashes: the newest of each purpose for each user. A used link stays until it can no longer be
 * sent again, so that a repeated mail does not make it valid again. `mail_notices` are mails that are sent once.
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

      CREATE TABLE mail_notices (
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        notice text NOT NULL,
        about timestamptz NOT NULL,
        PRIMARY KEY (user_id, notice, about)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE mail_links, mail_notices');
  }
}
