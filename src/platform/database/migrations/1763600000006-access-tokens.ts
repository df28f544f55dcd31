import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Personal access tokens. Of the token itself there is only the SHA-256; a bound one goes with its workspace. */
export class AccessTokens1763600000006 implements MigrationInterface {
  readonly name = 'AccessTokens1763600000006';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE access_tokens');
  }
}
