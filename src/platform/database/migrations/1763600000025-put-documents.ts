/**
 * `put_files` of 1763600000020 in the same way. When not all of the uploads fit together, nothing is done and each is `apart`:
 * to be put alone, in order, where a large one may be refused and a small one after it fit.
 */
export const PUT_DOCUMENTS = `
  CREATE FUNCTION put_documents(
    p_workspace uuid, p_path text[], p_hash text[], p_size bigint[], p_device text[], p_now timestamptz[],
    p_file uuid[], p_version uuid[], p_blob uuid[], p_bytes bytea, p_length int[], p_if_match text[], p_if_absent boolean[],
    p_elsewhere bigint, p_quota bigint
  ) RETURNS TABLE (outcome text, file_id uuid, file_version integer, change_cursor bigint, used_bytes bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    held bigint;
    stopped text;
  BEGIN
    SELECT w.document_bytes INTO held FROM workspaces w WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      stopped := 'workspace_gone';
    ELSIF p_elsewhere + held + (SELECT sum(size) FROM unnest(p_size) AS size) > p_quota THEN
      stopped := 'apart';
    END IF;
    IF stopped IS NOT NULL THEN
      RETURN QUERY SELECT stopped, NULL::uuid, NULL::integer, NULL::bigint, NULL::bigint FROM unnest(p_path);
      RETURN;
    END IF;

    RETURN QUERY WITH asked AS (
      SELECT u.*, coalesce(sum(length) OVER (ORDER BY ord ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::int AS start
      FROM unnest(p_path, p_hash, p_size, p_device, p_now, p_file, p_version, p_blob, p_length, p_if_match, p_if_absent)
        WITH ORDINALITY AS u (path, hash, size, device, now, new_file, new_version, blob, length, if_match, if_absent, ord)
    ), decided AS MATERIALIZED (
      SELECT asked.*, coalesce(head.id, new_file) AS file, coalesce(head.version, 0) AS version,
             coalesce(head.is_live, false) AS is_live,
             CASE
               WHEN head.is_live AND head.content_hash = hash THEN 'unchanged'
               WHEN if_absent AND head.is_live THEN 'precondition_failed'
               WHEN if_match IS NOT NULL AND NOT coalesce(
                 head.is_live AND ARRAY[head.content_hash, '*'] && string_to_array(if_match, ','), false
               ) THEN 'precondition_failed'
               WHEN head.id IS NULL THEN 'created'
               ELSE 'updated'
             END AS decision
      FROM asked LEFT JOIN LATERAL (
        SELECT f.id, f.version, f.content_hash, NOT f.is_deleted AS is_live
        FROM files f WHERE f.workspace_id = p_workspace AND f.path_hash = sha256(asked.path::bytea) LIMIT 1
      ) head ON true
    ), claimed AS (
      UPDATE blobs b SET state = 'live', size = d.size, sha256 = d.hash
      FROM decided d
      WHERE d.decision IN ('created', 'updated') AND d.length IS NULL
        AND b.workspace_id = p_workspace AND b.id = d.blob AND b.state = 'staged'
      RETURNING b.id
    ), kept AS (
      INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
      SELECT p_workspace, blob, 'live', 'inline', size, hash, substring(p_bytes FROM start + 1 FOR length), now
      FROM decided WHERE decision IN ('created', 'updated') AND length IS NOT NULL
    ), written AS MATERIALIZED (
      SELECT d.*, d.version + 1 AS next_version, row_number() OVER (ORDER BY ord) AS nth
      FROM decided d
      WHERE decision IN ('created', 'updated') AND (length IS NOT NULL OR blob IN (SELECT id FROM claimed))
    ), log AS (
      UPDATE workspaces w
      SET head_cursor = w.head_cursor + n.written, live_files = w.live_files + n.alive, document_bytes = w.document_bytes + n.bytes
      FROM (SELECT count(*) AS written, count(*) FILTER (WHERE NOT is_live) AS alive, sum(size)::bigint AS bytes FROM written) n
      WHERE w.id = p_workspace AND n.written > 0
      RETURNING w.head_cursor - n.written AS before
    ), headed AS (
      INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, created_at, updated_at)
      SELECT p_workspace, file, path, hash, size, next_version, now, now FROM written
      ON CONFLICT ON CONSTRAINT files_path_unique DO UPDATE
      SET content_hash = excluded.content_hash, encrypted_size = excluded.encrypted_size, version = excluded.version,
          is_deleted = false, updated_at = excluded.updated_at
    ), minted AS (
      INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
      SELECT p_workspace, new_version, file, next_version, blob, hash, size, device, log.before + nth, now FROM written, log
    ), logged AS (
      INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
      SELECT p_workspace, log.before + nth, file, 'upsert', hash, size, next_version, now, device FROM written, log
    )
    SELECT CASE WHEN w.ord IS NULL AND d.decision IN ('created', 'updated') THEN 'blob_gone' ELSE d.decision END,
           d.file, coalesce(w.next_version, d.version), log.before + w.nth, NULL::bigint
    FROM decided d LEFT JOIN written w USING (ord) LEFT JOIN log ON true
    ORDER BY d.ord;
  END $$;
`;
