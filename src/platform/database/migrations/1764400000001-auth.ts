import { Baseline } from './baseline.js';

/**
 * Accounts, their sessions and factors. The identity library's tables are those that `src/domain/auth/identity.ts` maps.
 *
 * `users.suspended_at`: when the operator suspended the account; `promoted_at`: since when the user is an administrator; null
 * otherwise. `two_factor_enabled` is what the library reads at sign-in: true exactly while the user's row of `auth_two_factors`
 * is verified.
 *
 * `auth_sessions.confirmed_at` and `factor_at`: when a password or another factor, and when a code or a passkey, was last given
 * in the session; null if never.
 *
 * `auth_accounts_linked`: a person at an OpenID Connect provider is linked to at most one account. One-time tokens are looked up
 * by a hash index: the library may store a value of any length there.
 *
 * `auth_two_factors.last_step` is the newest 30-second step whose code was used, so that no code works twice; `backup_codes` are
 * keyed hashes. `failed_verification_count` and `locked_until` are columns that the library expects; the service counts wrong
 * codes itself.
 *
 * `ended_sessions`: sessions that have ended, whose JWTs have not expired yet. A trigger fills it, so that no way to end a
 * session can omit it; a session that gets another id has ended under its old one. Sessions of deleted users are omitted, because
 * every request checks that the user exists. `transaction` lets a reader that has seen everything up to a snapshot find the rows
 * that were committed since, regardless of the order of their commits.
 *
 * `wrong_passwords`: wrong passwords of the last hour, by account. It is unlogged: losing it in a crash only allows a few more
 * guesses. Its key is a hash, because it also counts for email addresses without an account. `known_networks`: networks from
 * which users have signed in.
 *
 * `invitations`: at most one per address; the row has the SHA-256 of the link's token.
 */
export class Auth1764400000001 extends Baseline {
  readonly name = 'Auth1764400000001';
  readonly sql = `
    CREATE TABLE users (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      name text NOT NULL,
      email text NOT NULL CONSTRAINT users_email_unique UNIQUE,
      email_verified boolean NOT NULL,
      image text,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      suspended_at timestamptz,
      two_factor_enabled boolean NOT NULL DEFAULT false,
      promoted_at timestamptz
    );
    CREATE INDEX users_suspended ON users (id) WHERE suspended_at IS NOT NULL;

    CREATE TABLE auth_sessions (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      token text NOT NULL UNIQUE,
      expires_at timestamptz NOT NULL,
      ip_address text,
      user_agent text,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL,
      confirmed_at timestamptz,
      factor_at timestamptz
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
    CREATE UNIQUE INDEX auth_accounts_linked ON auth_accounts (provider_id, account_id) WHERE provider_id <> 'credential';

    CREATE TABLE auth_verifications (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      identifier text NOT NULL,
      value text NOT NULL,
      expires_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX auth_verifications_identifier ON auth_verifications (identifier);
    CREATE INDEX auth_verifications_value ON auth_verifications USING hash (value);

    CREATE TABLE auth_jwks (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      public_key text NOT NULL,
      private_key text NOT NULL,
      alg text,
      crv text,
      created_at timestamptz NOT NULL,
      expires_at timestamptz
    );

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

    CREATE TABLE ended_sessions (
      session_id uuid PRIMARY KEY,
      ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      transaction xid8 NOT NULL DEFAULT pg_current_xact_id()
    );
    CREATE INDEX ended_sessions_transaction ON ended_sessions (transaction);
    CREATE INDEX ended_sessions_ended_at ON ended_sessions (ended_at);

    CREATE FUNCTION note_ended_session() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO ended_sessions (session_id)
        SELECT OLD.id WHERE EXISTS (SELECT FROM users WHERE id = OLD.user_id) ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $$;
    CREATE TRIGGER note_ended_session AFTER DELETE OR UPDATE OF id ON auth_sessions
      FOR EACH ROW EXECUTE FUNCTION note_ended_session();

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

    CREATE TABLE invitations (
      email text PRIMARY KEY,
      token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX invitations_expires_at ON invitations (expires_at);
  `;
}
