import { Baseline } from './baseline.js';

/**
 * Personal access tokens, of which only the SHA-256 is stored; a token that is bound to a workspace is deleted with it.
 * `access_tokens_unrevoked` is for the cap, which counts tokens that are not revoked.
 *
 * Key sessions: only the SHA-256 of the session's token is stored, and the master key is sealed with a key that only the token
 * yields: 12 bytes of nonce, 32 of ciphertext, 16 of tag. `session_id` is the session of the JWT that has opened the key session,
 * which ends with it.
 */
export class AccessTokens1764400000007 extends Baseline {
  readonly name = 'AccessTokens1764400000007';
  readonly sql = `
    CREATE TABLE access_tokens (
      id uuid PRIMARY KEY,
      user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      token_hash bytea NOT NULL CONSTRAINT access_tokens_hash_unique UNIQUE CHECK (length(token_hash) = 32),
      scopes text[] NOT NULL CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY[
          'full', 'documents:read', 'documents:write', 'agent:invoke', 'assets:read', 'assets:write'
        ]
      ),
      workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
      created_at timestamptz NOT NULL,
      last_used_at timestamptz,
      expires_at timestamptz,
      revoked_at timestamptz
    );
    CREATE INDEX access_tokens_user_id ON access_tokens (user_id, id);
    CREATE INDEX access_tokens_workspace_id ON access_tokens (workspace_id) WHERE workspace_id IS NOT NULL;
    CREATE INDEX access_tokens_unrevoked ON access_tokens (user_id, id) INCLUDE (expires_at) WHERE revoked_at IS NULL;

    CREATE TABLE key_sessions (
      id uuid PRIMARY KEY,
      token_hash bytea NOT NULL CONSTRAINT key_sessions_hash_unique UNIQUE CHECK (length(token_hash) = 32),
      user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      access_token_id uuid REFERENCES access_tokens (id) ON DELETE CASCADE,
      wrapped_key bytea NOT NULL CHECK (length(wrapped_key) = 60),
      created_at timestamptz NOT NULL,
      last_used_at timestamptz NOT NULL,
      session_id uuid
    );
    CREATE INDEX key_sessions_user_id ON key_sessions (user_id);
    CREATE INDEX key_sessions_workspace_id ON key_sessions (workspace_id);
    CREATE INDEX key_sessions_access_token_id ON key_sessions (access_token_id) WHERE access_token_id IS NOT NULL;
    CREATE INDEX key_sessions_last_used_at ON key_sessions (last_used_at);
  `;
}
