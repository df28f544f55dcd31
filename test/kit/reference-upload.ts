/**
 * One upload, decided and written step by step: the reference for `put_documents` and `put_documents_of_many`. An upload
 * that would raise the account's bytes (`p_elsewhere` in other workspaces plus those of this one) above `p_quota` is
 * `quota_exceeded`, with `used_bytes` as of that decision; a null quota means no limit.
 */
export const REFERENCE_UPLOAD = `
  CREATE FUNCTION reference_upload(
    p_workspace uuid, p_path text, p_hash text, p_size bigint, p_device text, p_now timestamptz,
    p_file uuid, p_version uuid, p_blob uuid, p_bytes bytea, p_if_match text[], p_if_absent boolean,
    p_elsewhere bigint, p_quota bigint,
    OUT outcome text, OUT file_id uuid, OUT file_version integer, OUT change_cursor bigint, OUT used_bytes bigint
  ) LANGUAGE plpgsql AS $$
  DECLARE
    head files%ROWTYPE;
    is_live boolean;
    held bigint;
  BEGIN
    SELECT w.document_bytes INTO held FROM workspaces w WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;
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

    IF p_elsewhere + held + p_size > p_quota THEN
      outcome := 'quota_exceeded';
      used_bytes := p_elsewhere + held;
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
    SET head_cursor = w.head_cursor + 1, live_files = w.live_files + (NOT is_live)::int,
        document_bytes = held + p_size
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
