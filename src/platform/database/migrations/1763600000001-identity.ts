import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The identity handler's tables, in the names that src/auth/identity.ts tells it. */
export class Identity1763600000001 implements MigrationInterface {
  readonly name = 'Identity1763600000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE users (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        name text NOT NULL,
        email text NOT NULL CONSTRAINT users_email_unique UNIQUE,
        email_verified boolean NOT NULL,
        image text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );

      CREATE TABLE auth_sessions (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        token text NOT NULL UNIQUE,
        expires_at timestamptz NOT NULL,
        ip_address text,
        user_agent text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL
      );
      CREATE INDEX auth_sessions_user_id ON auth_sessions (user_id);

      CREATE TABLE auth_accounts (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        account_id text NOT NULL,
        provider_id text NOT NULL,
        access_token text,
        refresh_token text,
        id_token text,
        access_token_expires_at timestamptz,
        refresh_token_expires_at timestamptz,
        scope text,
        password text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL
      );
      CREATE INDEX auth_accounts_user_id ON auth_accounts (user_id);

      CREATE TABLE auth_verifications (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        identifier text NOT NULL,
        value text NOT NULL,
        expires_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX auth_verifications_identifier ON auth_verifications (identifier);

      CREATE TABLE auth_jwks (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        public_key text NOT NULL,
        private_key text NOT NULL,
        alg text,
        crv text,
        created_at timestamptz NOT NULL,
        expires_at timestamptz
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE auth_jwks, auth_verifications, auth_accounts, auth_sessions, users');
  }
}
