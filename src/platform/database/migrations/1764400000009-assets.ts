import { Baseline } from './baseline.js';

/**
 * Assets, the storage limits of their owners, and the idempotency keys of uploads. Every writer of `assets` holds the row lock of
 * the workspace, then that of the account.
 */
export class Assets1764400000009 extends Baseline {
  readonly name = 'Assets1764400000009';
  readonly sql = `
    CREATE TABLE storage_accounts (
      user_id uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
      used_bytes bigint NOT NULL DEFAULT 0 CHECK (used_bytes >= 0),
      addon_bytes bigint NOT NULL DEFAULT 0 CHECK (addon_bytes >= 0),
      locked boolean NOT NULL DEFAULT false
    ) WITH (fillfactor = 50);

    CREATE TABLE assets (
      workspace_id uuid NOT NULL REFERENCES workspaces (id),
      token text COLLATE "C" NOT NULL CHECK (token ~ '^[A-Za-z0-9_-]+$' AND length(token) <= 1024),
      blob_id uuid NOT NULL,
      size bigint NOT NULL CHECK (size BETWEEN 61 AND 26214461),
      revision bigint NOT NULL,
      uploaded_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, token),
      CONSTRAINT assets_blob_unique UNIQUE (workspace_id, blob_id),
      FOREIGN KEY (workspace_id, blob_id) REFERENCES blobs (workspace_id, id)
    );
    ALTER TABLE assets ALTER COLUMN workspace_id SET STATISTICS 0;
    CREATE INDEX assets_newest ON assets (workspace_id, uploaded_at DESC, revision DESC);

    CREATE TABLE asset_idempotency_keys (
      workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
      token text NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, key)
    );
    CREATE INDEX asset_idempotency_keys_age ON asset_idempotency_keys (created_at);
  `;
}
