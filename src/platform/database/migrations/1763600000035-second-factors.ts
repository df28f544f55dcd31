import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Second factors and passkeys. `users.two_factor_enabled` is what the identity library reads at sign-in: true exactly while
 * the user's row of `auth_two_factors` is verified. `last_step` is the newest 30-second step whose code was used, so that no
 * code works twice; `backup_codes` are keyed hashes. `failed_verification_count` and `locked_until` are columns that the
 * library expects; the service counts wrong codes itself.
 */
export class SecondFactors1763600000035 implements MigrationInterface {
  readonly name = 'SecondFactors1763600000035';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users ADD COLUMN two_factor_enabled boolean NOT NULL DEFAULT false;

      CREATE TABLE auth_two_factors (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
        secret text NOT NULL,
        backup_codes text[] NOT NULL DEFAULT '{}',
        verified boolean NOT NULL DEFAULT false,
        last_step bigint,
        failed_verification_count integer NOT NULL DEFAULT 0,
        locked_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT now()
      );

      CREATE TABLE auth_passkeys (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        name text,
        credential_id text NOT NULL UNIQUE,
        public_key text NOT NULL,
        counter bigint NOT NULL,
        device_type text NOT NULL,
        backed_up boolean NOT NULL,
        transports text,
        aaguid text,
        created_at timestamptz NOT NULL
      );
      CREATE INDEX auth_passkeys_user_id ON auth_passkeys (user_id, created_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE auth_passkeys, auth_two_factors');
    await runner.query('ALTER TABLE users DROP COLUMN two_factor_enabled');
  }
}
