-- The functions that decide and write every upload. A start loads this file after the migrations when its text has changed
-- (upload-functions.ts), while instances of the version before may still call them: other parameters or columns need another
-- name, and what the service relies on must not be in this file alone, but come with a migration.
--
-- What is in braces are names, as in statements (platform/database/stored-functions.ts): connections to the nodes of an engine have
-- copies for the tables of each shard. So there is neither the name of a constraint, which is another one in each shard, nor an
-- element of an array as the new value of a column, on which Citus 13.2 crashes.

-- Decides uploads to several workspaces, one after the other, each as if the ones before it had been committed, and writes those
-- that change something with one statement for each table.
--
-- p_workspace, p_head and p_held have an element for each workspace: its head cursor, and what its account holds. A workspace whose
-- head is null is left out: its uploads get no row and write nothing. p_quota is the limit of each account, null for none.
-- The others have an element for each upload; p_of is the place of its workspace. p_bytes has the contents one after the other, of
-- p_length bytes each; a null length: the store has them, and p_blob is staged. p_if_match is a list of hashes with commas.
--
-- outcome: created | updated | unchanged | precondition_failed | quota_exceeded | blob_gone. used_bytes is what the account holds, with
-- the uploads decided before, when the quota would be exceeded.
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
  -- By workspace: the head of the log, and the files and bytes that are added.
  log_heads bigint[] := p_head;
  added_files int[] := array_fill(0, ARRAY[cardinality(p_head)]);
  added_bytes bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_head)]);
  -- The uploads that are written, in order: place, file, version, cursor and first byte.
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

-- The same for one workspace, for whose lock it waits. The lock is taken by a statement of its own, so that the ones after it
-- see what the previous writer has committed. p_elsewhere is what the account holds in other workspaces. The outcome is
-- workspace_gone for all when the workspace is deleted.
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
