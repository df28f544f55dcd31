import { Baseline } from './baseline.js';

/**
 * The write model: files, their versions and the change log, which `src/domain/files/put-documents.sql` writes. Every key begins
 * with the workspace, so the rows of a workspace can be distributed by it. A path may have 4,096 characters and an index entry
 * holds 2.7 kB, hence `path_hash`.
 *
 * `files_deleted` lists the trash. `changes_deletions` lets a push find what a device has deleted without reading the other
 * changes of a file; uploads do not write it.
 */
export class Files1764400000005 extends Baseline {
  readonly name = 'Files1764400000005';
  readonly sql = `
    CREATE TABLE files (
      workspace_id uuid NOT NULL REFERENCES workspaces (id),
      id uuid NOT NULL,
      encrypted_path text NOT NULL CHECK (encrypted_path ~ '^[A-Za-z0-9_-]+={0,2}$' AND length(encrypted_path) <= 4096),
      path_hash bytea NOT NULL GENERATED ALWAYS AS (sha256(encrypted_path::bytea)) STORED,
      content_hash text NOT NULL,
      encrypted_size bigint NOT NULL,
      version integer NOT NULL CHECK (version > 0),
      is_deleted boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, id),
      CONSTRAINT files_path_unique UNIQUE (workspace_id, path_hash)
    ) WITH (fillfactor = 80);
    ALTER TABLE files ALTER COLUMN workspace_id SET STATISTICS 0;
    CREATE INDEX files_live ON files (workspace_id, id) WHERE NOT is_deleted;
    CREATE INDEX files_deleted ON files (workspace_id, id) WHERE is_deleted;

    CREATE TABLE versions (
      workspace_id uuid NOT NULL,
      id uuid NOT NULL,
      file_id uuid NOT NULL,
      version integer NOT NULL CHECK (version > 0),
      blob_id uuid NOT NULL,
      content_hash text NOT NULL,
      encrypted_size bigint NOT NULL,
      device_id text,
      change_cursor bigint,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, id),
      CONSTRAINT versions_number_unique UNIQUE (workspace_id, file_id, version),
      FOREIGN KEY (workspace_id, file_id) REFERENCES files (workspace_id, id),
      FOREIGN KEY (workspace_id, blob_id) REFERENCES blobs (workspace_id, id)
    );
    ALTER TABLE versions ALTER COLUMN workspace_id SET STATISTICS 0;
    CREATE INDEX versions_blob ON versions (workspace_id, blob_id);

    CREATE TABLE changes (
      workspace_id uuid NOT NULL,
      cursor bigint NOT NULL CHECK (cursor > 0),
      file_id uuid NOT NULL,
      action text NOT NULL CHECK (action IN ('upsert', 'delete')),
      content_hash text NOT NULL,
      encrypted_size bigint NOT NULL,
      version integer NOT NULL,
      changed_at timestamptz NOT NULL,
      changed_by_device text,
      PRIMARY KEY (workspace_id, cursor),
      FOREIGN KEY (workspace_id, file_id) REFERENCES files (workspace_id, id)
    );
    ALTER TABLE changes ALTER COLUMN workspace_id SET STATISTICS 0;
    CREATE INDEX changes_of_file ON changes (workspace_id, file_id, cursor DESC) INCLUDE (action, version);
    CREATE INDEX changes_deletions ON changes (workspace_id, file_id, cursor) WHERE action = 'delete';
  `;
}
