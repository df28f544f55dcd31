import { Baseline } from './baseline.js';

/**
 * `head_cursor` is the head of the change log, and the row lock orders all writes of a workspace. Each write updates the row,
 * hence the fillfactor: it leaves room for updates in place (HOT), and no index has a column that these updates change.
 *
 * - `live_files` is kept because counting 100,000 rows takes 20 ms.
 * - `document_bytes`: the bytes of the blobs that the workspace's versions refer to, each blob once. It has no CHECK: a wrong
 *   count must not refuse a write; the doctor recounts.
 * - `assets_revision` counts the commits to assets of which clients are notified.
 * - `user_id` is null when the account was deleted: the workspace stays, marked as deleted, until it is purged.
 * - The CHECKs of hex columns test length and digits separately. PostgreSQL builds the states of a regular expression for each
 *   row, and one that counts to 64 has 64 of them (9 µs), for every write of an encrypted workspace.
 *
 * `key_slots`: the master key of a workspace, wrapped by clients. `kdf` is JSON as text, because jsonb would change numbers and
 * the order of keys. `updated_at` has whole milliseconds and rises with every replacement: clients compare it.
 *
 * The other two tables, which a later migration drops, were for distributed databases. `workspace_catalogue` has the data of
 * workspace lists, so that a list needs no node. `owed_deletions`: workspaces of deleted accounts that must still be marked as
 * deleted. It has no foreign key, because workspaces are on other servers.
 */
export class Workspaces1764400000003 extends Baseline {
  readonly name = 'Workspaces1764400000003';
  readonly sql = `
    CREATE TABLE workspaces (
      id uuid PRIMARY KEY,
      user_id uuid,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      encryption_salt text CHECK (length(encryption_salt) = 64 AND encryption_salt ~ '^[0-9a-f]*$'),
      verification_hash text CHECK (length(verification_hash) = 64 AND verification_hash ~ '^[0-9a-f]*$'),
      verification_salt text CHECK (length(verification_salt) BETWEEN 32 AND 128 AND verification_salt ~ '^[0-9a-f]*$'),
      head_cursor bigint NOT NULL DEFAULT 0 CHECK (head_cursor >= 0),
      live_files bigint NOT NULL DEFAULT 0 CHECK (live_files >= 0),
      compaction_floor bigint,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      deleted_at timestamptz,
      assets_revision bigint NOT NULL DEFAULT 0 CHECK (assets_revision >= 0),
      document_bytes bigint NOT NULL DEFAULT 0,
      CHECK ((encryption_salt IS NULL) = (verification_hash IS NULL)),
      CHECK ((encryption_salt IS NULL) = (verification_salt IS NULL)),
      CONSTRAINT workspaces_owner CHECK (user_id IS NOT NULL OR deleted_at IS NOT NULL),
      CONSTRAINT workspaces_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL
    ) WITH (fillfactor = 50);
    CREATE INDEX workspaces_user_id ON workspaces (user_id, id) WHERE deleted_at IS NULL;
    CREATE INDEX workspaces_of_user ON workspaces (user_id);
    CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;

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
    );

    CREATE TABLE workspace_catalogue (
      id uuid PRIMARY KEY,
      user_id uuid NOT NULL CONSTRAINT workspace_catalogue_user_id_fkey REFERENCES users ON DELETE CASCADE,
      name text NOT NULL,
      encryption_salt text,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    );
    CREATE INDEX workspace_catalogue_of_user ON workspace_catalogue (user_id, id);

    CREATE TABLE owed_deletions (
      workspace_id uuid PRIMARY KEY,
      deleted_at timestamptz NOT NULL
    );
  `;
}
