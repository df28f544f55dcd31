import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `key_slots`: the master key of a workspace, wrapped by clients. `kdf` is JSON as text, because jsonb would change numbers and
 * the order of keys. `updated_at` has whole milliseconds and rises with every replacement: clients compare it.
 */
export class KeySlots1763600000038 implements MigrationInterface {
  readonly name = 'KeySlots1763600000038';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE key_slots (
        workspace_id uuid NOT NULL REFERENCES workspaces (id),
        id uuid NOT NULL,
        kind text NOT NULL CHECK (kind IN ('password', 'recovery', 'passkey')),
        label text CHECK (length(label) <= 512),
        kdf text NOT NULL CHECK (octet_length(kdf) <= 1024),
        wrapped_key bytea NOT NULL CHECK (octet_length(wrapped_key) BETWEEN 1 AND 1024),
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        PRIMARY KEY (workspace_id, id)
      )
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE key_slots');
  }
}
