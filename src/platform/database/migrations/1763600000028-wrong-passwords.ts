import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Wrong passwords by account, those of the last hour, and the networks from which users have signed in. The first is
 * unlogged: losing it in a crash costs nobody anything but some more guesses. Its key is a hash: it also counts for email
 * addresses that have no account. Networks are known of the sessions that are there, as far as they are of IPv4.
 */
export class WrongPasswords1763600000028 implements MigrationInterface {
  readonly name = 'WrongPasswords1763600000028';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE wrong_passwords (
        key bytea PRIMARY KEY,
        tried_at timestamptz[] NOT NULL,
        last_at timestamptz NOT NULL
      );

      CREATE TABLE known_networks (
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        network text NOT NULL,
        last_seen_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, network)
      );

      INSERT INTO known_networks
      SELECT user_id, 'network:' || ip_address, max(updated_at) FROM auth_sessions
      WHERE ip_address ~ '^\\d{1,3}(\\.\\d{1,3}){3}$' GROUP BY 1, 2;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE wrong_passwords, known_networks');
  }
}
