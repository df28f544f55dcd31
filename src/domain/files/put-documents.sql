-- The functions that decide and write every upload. The service loads this file at its start, after the migrations, when the text
-- has changed (platform/database/migrate.ts), while instances of the previous version may still call the functions. So other
-- parameters or columns need a new function name, and whatever the service relies on must come with a migration as well.
--
-- Names in braces are replaced as in statements: connections to the nodes of an engine have copies of the functions for the
-- tables of each shard. So do not name constraints, whose names differ between shards, and do not assign an array element to a
-- column, on which Citus 13.2 crashes.

-- Decides uploads to several workspaces in order, each as if the previous ones had been committed, and writes the changes with
-- one statement per table.
--
-- p_workspace, p_head and p_held have one element per workspace: its head cursor, and the usage of its account. A workspace whose
-- head is null is skipped: its uploads return no row and write nothing. p_quota is the limit of each account; null: unlimited.
-- The other arrays have one element per upload; p_of is the position of its workspace. p_bytes is the contents in order, of
-- p_length bytes each; when p_length is null, the store has the content and p_blob is staged. p_if_match is a list of hashes,
-- separated by commas.
--
-- outcome: created | updated | unchanged | precondition_failed | quota_exceeded | blob_gone. With quota_exceeded, used_bytes is
-- the usage of the account including the uploads decided before.
--
-- Danger: the caller holds the locks of the workspaces, and has read p_head and p_held under them. The paths of a workspace
-- differ: all uploads are decided on the basis of the tables before any of them.
CREATE OR REPLACE FUNCTION {put_documents_of_many}(
  p_workspace uuid[],
  p_head bigint[],
  p_held bigint[],
  p_quota bigint,
  p_of int[],
  p_path text[],
  p_hash text[],
  p_size bigint[],
  p_device text[],
  p_now timestamptz[],
  p_file uuid[],
  p_version uuid[],
  p_blob uuid[],
  p_bytes bytea,
  p_length int[],
  p_if_match text[],
  p_if_absent boolean[]
) RETURNS TABLE (
  place integer,
  outcome text,
  file_id uuid,
  file_version integer,
  change_cursor bigint,
  used_bytes bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  u record;
  w int;
  is_live boolean;
  next_byte int := 1;
  -- By workspace: the head of the log, and the added files and bytes.
  log_heads bigint[] := p_head;
  added_files int[] := array_fill(0, ARRAY[cardinality(p_head)]);
  added_bytes bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_head)]);
  -- The written uploads, in order: position, file, version, cursor and first byte.
  written int[] := '{}';
  written_files uuid[] := '{}';
  written_versions int[] := '{}';
  written_cursors bigint[] := '{}';
  written_starts int[] := '{}';
BEGIN
  {hold_shard}
  FOR u IN
    SELECT asked.*, f.id AS head_id, f.version AS head_version, f.content_hash AS head_hash, f.is_deleted
    FROM unnest(p_of, p_path, p_hash, p_size, p_file, p_blob, p_length, p_if_match, p_if_absent)
      WITH ORDINALITY AS asked (w, path, hash, size, file, blob, length, if_match, if_absent, n)
    LEFT JOIN LATERAL (
      SELECT id, version, content_hash, is_deleted FROM {files}
      WHERE workspace_id = p_workspace[asked.w] AND path_hash = sha256(asked.path::bytea) LIMIT 1
    ) f ON true
    ORDER BY asked.n
  LOOP
    next_byte := next_byte + coalesce(u.length, 0);
    w := u.w;
    CONTINUE WHEN log_heads[w] IS NULL;

    is_live := u.head_id IS NOT NULL AND NOT u.is_deleted;
    place := u.n;
    file_id := coalesce(u.head_id, u.file);
    file_version := coalesce(u.head_version, 0);
    change_cursor := NULL;
    used_bytes := NULL;

    IF is_live AND u.head_hash = u.hash THEN
      outcome := 'unchanged';
    ELSIF u.if_absent AND is_live THEN
      outcome := 'precondition_failed';
    ELSIF u.if_match IS NOT NULL
      AND NOT (is_live AND ARRAY[u.head_hash, '*'] && string_to_array(u.if_match, ',')) THEN
      outcome := 'precondition_failed';
    ELSIF p_held[w] + added_bytes[w] + u.size > p_quota THEN
      outcome := 'quota_exceeded';
      used_bytes := p_held[w] + added_bytes[w];
    ELSE
      outcome := CASE WHEN u.head_id IS NULL THEN 'created' ELSE 'updated' END;
      IF u.length IS NULL THEN
        UPDATE {blobs} b SET state = 'live', size = u.size, sha256 = u.hash
        WHERE b.workspace_id = p_workspace[u.w] AND b.id = u.blob AND b.state = 'staged';
        IF NOT FOUND THEN
          outcome := 'blob_gone';
        END IF;
      END IF;
    END IF;

    IF outcome IN ('created', 'updated') THEN
      file_version := file_version + 1;
      change_cursor := log_heads[w] + 1;
      log_heads[w] := change_cursor;
      added_files[w] := added_files[w] + (NOT is_live)::int;
      added_bytes[w] := added_bytes[w] + u.size;
      written := written || place;
      written_files := written_files || file_id;
      written_versions := written_versions || file_version;
      written_cursors := written_cursors || change_cursor;
      written_starts := written_starts || next_byte - coalesce(u.length, 0);
    END IF;
    RETURN NEXT;
  END LOOP;
  IF cardinality(written) = 0 THEN
    RETURN;
  END IF;

  INSERT INTO {blobs} (workspace_id, id, state, location, size, sha256, bytes, created_at)
  SELECT p_workspace[p_of[n]], p_blob[n], 'live', 'inline', p_size[n], p_hash[n],
         substring(p_bytes FROM start FOR p_length[n]), p_now[n]
  FROM unnest(written, written_starts) AS u (n, start)
  WHERE p_length[n] IS NOT NULL;

  UPDATE {workspaces} w
  SET head_cursor = greatest(w.head_cursor, log_heads[array_position(p_workspace, w.id)]),
      live_files = w.live_files + added_files[array_position(p_workspace, w.id)],
      document_bytes = w.document_bytes + added_bytes[array_position(p_workspace, w.id)]
  WHERE w.id = ANY (p_workspace) AND w.head_cursor < log_heads[array_position(p_workspace, w.id)];

  INSERT INTO {files} (
    workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at
  )
  SELECT p_workspace[p_of[n]], file, p_path[n], p_blob[n], p_hash[n], p_size[n], version, p_now[n], p_now[n]
  FROM unnest(written, written_files, written_versions) AS u (n, file, version)
  ON CONFLICT (workspace_id, path_hash) DO UPDATE
  SET blob_id = excluded.blob_id,
      content_hash = excluded.content_hash,
      encrypted_size = excluded.encrypted_size,
      version = excluded.version,
      is_deleted = false,
      updated_at = excluded.updated_at;

  INSERT INTO {versions} (
    workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at
  )
  SELECT p_workspace[p_of[n]], p_version[n], file, version, p_blob[n], p_hash[n], p_size[n], p_device[n], cursor, p_now[n]
  FROM unnest(written, written_files, written_versions, written_cursors) AS u (n, file, version, cursor);

  INSERT INTO {changes} (
    workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at,
    changed_by_device
  )
  SELECT p_workspace[p_of[n]], cursor, file, p_path[n], 'upsert', p_hash[n], p_size[n], version, p_now[n], p_device[n]
  FROM unnest(written, written_files, written_versions, written_cursors) AS u (n, file, version, cursor);
END $$;

-- The same for one workspace; waits for its lock. A separate statement takes the lock, so that the following ones see what the
-- previous writer has committed. p_elsewhere is the usage of the account's other workspaces. When the workspace is deleted, the
-- outcome of every upload is workspace_gone.
CREATE OR REPLACE FUNCTION {put_documents}(
  p_workspace uuid,
  p_path text[],
  p_hash text[],
  p_size bigint[],
  p_device text[],
  p_now timestamptz[],
  p_file uuid[],
  p_version uuid[],
  p_blob uuid[],
  p_bytes bytea,
  p_length int[],
  p_if_match text[],
  p_if_absent boolean[],
  p_elsewhere bigint,
  p_quota bigint
) RETURNS TABLE (
  outcome text,
  file_id uuid,
  file_version integer,
  change_cursor bigint,
  used_bytes bigint
) LANGUAGE plpgsql AS $$
DECLARE
  head bigint;
  held bigint;
BEGIN
  {hold_shard}
  SELECT w.head_cursor, p_elsewhere + w.document_bytes INTO head, held
  FROM {workspaces} w
  WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'workspace_gone', NULL::uuid, NULL::integer, NULL::bigint, NULL::bigint FROM unnest(p_path);
    RETURN;
  END IF;

  RETURN QUERY SELECT o.outcome, o.file_id, o.file_version, o.change_cursor, o.used_bytes
  FROM {put_documents_of_many}(
    ARRAY[p_workspace], ARRAY[head], ARRAY[held], p_quota, array_fill(1, ARRAY[cardinality(p_path)]),
    p_path, p_hash, p_size, p_device, p_now, p_file, p_version, p_blob, p_bytes, p_length, p_if_match, p_if_absent
  ) o;
END $$;
