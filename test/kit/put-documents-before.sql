-- The functions of uploads before files.blob_id and changes.path. Instances of that version may call them during an upgrade.

CREATE OR REPLACE FUNCTION put_documents_of_many(
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
  -- Of the upload that is being decided: its workspace, the file at its path, and its content.
  w int;
  head_id uuid;
  head_version int;
  head_hash text;
  is_live boolean;
  first_byte int;
  next_byte int := 1;
  blob_size bigint;
  blob_hash text;
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
  FOR n IN 1 .. cardinality(p_path) LOOP
    first_byte := next_byte;
    next_byte := next_byte + coalesce(p_length[n], 0);
    w := p_of[n];
    CONTINUE WHEN log_heads[w] IS NULL;

    SELECT f.id, f.version, f.content_hash, NOT f.is_deleted INTO head_id, head_version, head_hash, is_live
    FROM files f
    WHERE f.workspace_id = p_workspace[p_of[n]] AND f.path_hash = sha256(p_path[n]::bytea);
    is_live := coalesce(is_live, false);
    place := n;
    file_id := coalesce(head_id, p_file[n]);
    file_version := coalesce(head_version, 0);
    change_cursor := NULL;
    used_bytes := NULL;

    IF is_live AND head_hash = p_hash[n] THEN
      outcome := 'unchanged';
    ELSIF p_if_absent[n] AND is_live THEN
      outcome := 'precondition_failed';
    ELSIF p_if_match[n] IS NOT NULL
      AND NOT (is_live AND ARRAY[head_hash, '*'] && string_to_array(p_if_match[n], ',')) THEN
      outcome := 'precondition_failed';
    ELSIF p_held[w] + added_bytes[w] + p_size[n] > p_quota THEN
      outcome := 'quota_exceeded';
      used_bytes := p_held[w] + added_bytes[w];
    ELSE
      outcome := CASE WHEN head_id IS NULL THEN 'created' ELSE 'updated' END;
      IF p_length[n] IS NULL THEN
        blob_size := p_size[n];
        blob_hash := p_hash[n];
        UPDATE blobs b SET state = 'live', size = blob_size, sha256 = blob_hash
        WHERE b.workspace_id = p_workspace[p_of[n]] AND b.id = p_blob[n] AND b.state = 'staged';
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
      added_bytes[w] := added_bytes[w] + p_size[n];
      written := written || n;
      written_files := written_files || file_id;
      written_versions := written_versions || file_version;
      written_cursors := written_cursors || change_cursor;
      written_starts := written_starts || first_byte;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF cardinality(written) = 0 THEN
    RETURN;
  END IF;

  INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
  SELECT p_workspace[p_of[n]], p_blob[n], 'live', 'inline', p_size[n], p_hash[n],
         substring(p_bytes FROM start FOR p_length[n]), p_now[n]
  FROM unnest(written, written_starts) AS u (n, start)
  WHERE p_length[n] IS NOT NULL;

  UPDATE workspaces w
  SET head_cursor = greatest(w.head_cursor, log_heads[array_position(p_workspace, w.id)]),
      live_files = w.live_files + added_files[array_position(p_workspace, w.id)],
      document_bytes = w.document_bytes + added_bytes[array_position(p_workspace, w.id)]
  WHERE w.id = ANY (p_workspace) AND w.head_cursor < log_heads[array_position(p_workspace, w.id)];

  INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, created_at, updated_at)
  SELECT p_workspace[p_of[n]], file, p_path[n], p_hash[n], p_size[n], version, p_now[n], p_now[n]
  FROM unnest(written, written_files, written_versions) AS u (n, file, version)
  ON CONFLICT (workspace_id, path_hash) DO UPDATE
  SET content_hash = excluded.content_hash,
      encrypted_size = excluded.encrypted_size,
      version = excluded.version,
      is_deleted = false,
      updated_at = excluded.updated_at;

  INSERT INTO versions (
    workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at
  )
  SELECT p_workspace[p_of[n]], p_version[n], file, version, p_blob[n], p_hash[n], p_size[n], p_device[n], cursor, p_now[n]
  FROM unnest(written, written_files, written_versions, written_cursors) AS u (n, file, version, cursor);

  INSERT INTO changes (
    workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device
  )
  SELECT p_workspace[p_of[n]], cursor, file, 'upsert', p_hash[n], p_size[n], version, p_now[n], p_device[n]
  FROM unnest(written, written_files, written_versions, written_cursors) AS u (n, file, version, cursor);
END $$;

-- The same for one workspace, for whose lock it waits. The lock is taken by a statement of its own, so that the ones after it
-- see what the previous writer has committed. p_elsewhere is what the account holds in other workspaces. The outcome is
-- workspace_gone for all when the workspace is deleted.
CREATE OR REPLACE FUNCTION put_documents(
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
  SELECT w.head_cursor, p_elsewhere + w.document_bytes INTO head, held
  FROM workspaces w
  WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'workspace_gone', NULL::uuid, NULL::integer, NULL::bigint, NULL::bigint FROM unnest(p_path);
    RETURN;
  END IF;

  RETURN QUERY SELECT o.outcome, o.file_id, o.file_version, o.change_cursor, o.used_bytes
  FROM put_documents_of_many(
    ARRAY[p_workspace], ARRAY[head], ARRAY[held], p_quota, array_fill(1, ARRAY[cardinality(p_path)]),
    p_path, p_hash, p_size, p_device, p_now, p_file, p_version, p_blob, p_bytes, p_length, p_if_match, p_if_absent
  ) o;
END $$;
