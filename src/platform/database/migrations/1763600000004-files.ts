import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The write model. Every key starts with the workspace, so a workspace's rows stay together and could be
 * distributed by it. A path may have 4,096 characters and an index entry holds 2.7 kB, hence `path_hash`.
 */
export class Files1763600000004 implements MigrationInterface {
  readonly name = 'Files1763600000004';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(PUT_FILE);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION put_file; DROP TABLE changes, versions, files, blobs, blob_stores');
  }
}

const TABLES = `
  CREATE TABLE blob_stores (
    location text PRIMARY KEY CHECK (location IN ('disk', 's3')),
    id uuid NOT NULL
  );

  CREATE TABLE blobs (
    workspace_id uuid NOT NULL REFERENCES workspaces (id),
    id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('staged', 'live', 'dying')),
    location text NOT NULL CHECK (location IN ('inline', 'disk', 's3')),
    size bigint CHECK (size >= 0),
    sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes bytea,
    not_before timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CHECK ((location = 'inline') = (bytes IS NOT NULL)),
    CHECK (state <> 'live' OR (size IS NOT NULL AND sha256 IS NOT NULL)),
    CHECK (state <> 'dying' OR not_before IS NOT NULL)
  );
  ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
  CREATE INDEX blobs_staged ON blobs (created_at) WHERE state = 'staged';
  CREATE INDEX blobs_dying ON blobs (not_before) WHERE state = 'dying';

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
  CREATE INDEX files_live ON files (workspace_id, id) WHERE NOT is_deleted;

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
  CREATE INDEX changes_of_file ON changes (workspace_id, file_id, cursor DESC) INCLUDE (action, version);
`;

/**
 * One upload in one round trip. plpgsql and not one CTE: after the workspace's row lock each statement takes a
 * fresh snapshot, so the decision is made on what the previous writer committed. The caller's clock, never now().
 *
 * `outcome`: created | updated | unchanged | precondition_failed | workspace_gone | blob_gone.
 */
const PUT_FILE = `
  CREATE FUNCTION put_file(
    p_workspace uuid, p_path text, p_hash text, p_size bigint, p_device text, p_now timestamptz,
    p_file uuid, p_version uuid, p_blob uuid, p_bytes bytea, p_if_match text[], p_if_absent boolean,
    OUT outcome text, OUT file_id uuid, OUT file_version integer, OUT change_cursor bigint
  ) LANGUAGE plpgsql AS $$
  DECLARE
    head files%ROWTYPE;
    is_live boolean;
  BEGIN
    PERFORM FROM workspaces w WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      outcome := 'workspace_gone';
      RETURN;
    END IF;

    SELECT * INTO head FROM files f WHERE f.workspace_id = p_workspace AND f.path_hash = sha256(p_path::bytea);
    is_live := FOUND AND NOT head.is_deleted;
    file_id := coalesce(head.id, p_file);
    file_version := coalesce(head.version, 0);

    IF is_live AND head.content_hash = p_hash THEN
      outcome := 'unchanged';
      RETURN;
    END IF;
    IF (p_if_absent AND is_live)
       OR (p_if_match IS NOT NULL AND (NOT is_live OR (head.content_hash <> ALL (p_if_match) AND '*' <> ALL (p_if_match)))) THEN
      outcome := 'precondition_failed';
      RETURN;
    END IF;

    IF p_bytes IS NOT NULL THEN
      INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
      VALUES (p_workspace, p_blob, 'live', 'inline', p_size, p_hash, p_bytes, p_now);
    ELSE
      UPDATE blobs b SET state = 'live', size = p_size, sha256 = p_hash
      WHERE b.workspace_id = p_workspace AND b.id = p_blob AND b.state = 'staged';
      IF NOT FOUND THEN
        outcome := 'blob_gone';
        RETURN;
      END IF;
    END IF;

    UPDATE workspaces w
    SET head_cursor = w.head_cursor + 1, live_files = w.live_files + (NOT is_live)::int
    WHERE w.id = p_workspace RETURNING w.head_cursor INTO change_cursor;

    file_version := file_version + 1;
    IF head.id IS NULL THEN
      outcome := 'created';
      INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, created_at, updated_at)
      VALUES (p_workspace, file_id, p_path, p_hash, p_size, file_version, p_now, p_now);
    ELSE
      outcome := 'updated';
      UPDATE files f
      SET content_hash = p_hash, encrypted_size = p_size, version = file_version, is_deleted = false, updated_at = p_now
      WHERE f.workspace_id = p_workspace AND f.id = head.id;
    END IF;

    INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
    VALUES (p_workspace, p_version, file_id, file_version, p_blob, p_hash, p_size, p_device, change_cursor, p_now);
    INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
    VALUES (p_workspace, change_cursor, file_id, 'upsert', p_hash, p_size, file_version, p_now, p_device);
  END $$;
`;
