import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Key sessions. Of the session's token there is only the SHA-256, and the master key is sealed under a key that only
 * the token gives: 12 bytes of nonce, 32 of ciphertext, 16 of tag. A session goes with what it rests on.
 */
export class KeySessions1763600000018 implements MigrationInterface {
  readonly name = 'KeySessions1763600000018';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE key_sessions (
        id uuid PRIMARY KEY,
        token_hash bytea NOT NULL CONSTRAINT key_sessions_hash_unique UNIQUE CHECK (length(token_hash) = 32),
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
        access_token_id uuid REFERENCES access_tokens (id) ON DELETE CASCADE,
        wrapped_key bytea NOT NULL CHECK (length(wrapped_key) = 60),
        created_at timestamptz NOT NULL,
        last_used_at timestamptz NOT NULL
      );
      CREATE INDEX key_sessions_user_id ON key_sessions (user_id);
      CREATE INDEX key_sessions_workspace_id ON key_sessions (workspace_id);
      CREATE INDEX key_sessions_access_token_id ON key_sessions (access_token_id) WHERE access_token_id IS NOT NULL;
      CREATE INDEX key_sessions_last_used_at ON key_sessions (last_used_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE key_sessions');
  }
}
