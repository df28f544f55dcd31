import type { MigrationInterface, QueryRunner } from 'typeorm';
import { PUT_DOCUMENT } from './1763600000025-put-document.js';
import { PUT_DOCUMENTS } from './1763600000025-put-documents.js';

/**
 * `put_documents` decides every upload, a single one too: one after the other, each as if the ones before it had been
 * committed, and then writes those that change something. An upload that would exceed the quota is `quota_exceeded`, with
 * `used_bytes` as of that decision, so a batch no longer has to be split (`apart`).
 *
 * Danger: the paths of a batch must differ. Each is decided on the basis of the table, in which the batch is not yet written.
 *
 * `put_document` keeps its signature for instances of the previous version, and so do `put_file` and `put_files`, which lead to
 * these two, for earlier ones.
 */
export class OneUploadFunction1763600000031 implements MigrationInterface {
  readonly name = 'OneUploadFunction1763600000031';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`${UPLOADS} ${SINGLE_UPLOAD}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION put_document; DROP FUNCTION put_documents;
      ${PUT_DOCUMENT} ${PUT_DOCUMENTS}
    `);
  }
}

export const UPLOADS = `
  CREATE OR REPLACE FUNCTION put_documents(
    p_workspace uuid, p_path text[], p_hash text[], p_size bigint[], p_device text[], p_now timestamptz[],
    p_file uuid[], p_version uuid[], p_blob uuid[], p_bytes bytea, p_length int[], p_if_match text[], p_if_absent boolean[],
    p_elsewhere bigint, p_quota bigint
  ) RETURNS TABLE (outcome text, file_id uuid, file_version integer, change_cursor bigint, used_bytes bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    log_head bigint;
    held bigint;
    head_id uuid; head_version int; head_hash text; is_live boolean;
    first_byte int;
    next_byte int := 1;
    added_files int := 0;
    added_bytes bigint := 0;
    -- The uploads that are written, in order: position, file, version and first byte of each.
    written int[] := '{}'; written_files uuid[] := '{}'; written_versions int[] := '{}'; written_starts int[] := '{}';
  BEGIN
    SELECT w.head_cursor, w.document_bytes INTO log_head, held
    FROM workspaces w WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT 'workspace_gone', NULL::uuid, NULL::integer, NULL::bigint, NULL::bigint FROM unnest(p_path);
      RETURN;
    END IF;

    FOR n IN 1 .. cardinality(p_path) LOOP
      first_byte := next_byte;
      next_byte := next_byte + coalesce(p_length[n], 0);
      SELECT f.id, f.version, f.content_hash, NOT f.is_deleted INTO head_id, head_version, head_hash, is_live
      FROM files f WHERE f.workspace_id = p_workspace AND f.path_hash = sha256(p_path[n]::bytea);
      is_live := coalesce(is_live, false);
      file_id := coalesce(head_id, p_file[n]);
      file_version := coalesce(head_version, 0);
      change_cursor := NULL;
      used_bytes := NULL;

      IF is_live AND head_hash = p_hash[n] THEN
        outcome := 'unchanged';
      ELSIF (p_if_absent[n] AND is_live) OR (p_if_match[n] IS NOT NULL AND NOT (
        is_live AND ARRAY[head_hash, '*'] && string_to_array(p_if_match[n], ',')
      )) THEN
        outcome := 'precondition_failed';
      ELSIF p_elsewhere + held + added_bytes + p_size[n] > p_quota THEN
        outcome := 'quota_exceeded';
        used_bytes := p_elsewhere + held + added_bytes;
      ELSE
        outcome := CASE WHEN head_id IS NULL THEN 'created' ELSE 'updated' END;
        IF p_length[n] IS NULL THEN
          UPDATE blobs b SET state = 'live', size = p_size[n], sha256 = p_hash[n]
          WHERE b.workspace_id = p_workspace AND b.id = p_blob[n] AND b.state = 'staged';
          IF NOT FOUND THEN
            outcome := 'blob_gone';
          END IF;
        END IF;
      END IF;

      IF outcome IN ('created', 'updated') THEN
        file_version := file_version + 1;
        written := written || n;
        written_files := written_files || file_id;
        written_versions := written_versions || file_version;
        written_starts := written_starts || first_byte;
        change_cursor := log_head + cardinality(written);
        added_files := added_files + (NOT is_live)::int;
        added_bytes := added_bytes + p_size[n];
      END IF;
      RETURN NEXT;
    END LOOP;
    IF cardinality(written) = 0 THEN
      RETURN;
    END IF;

    INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
    SELECT p_workspace, p_blob[n], 'live', 'inline', p_size[n], p_hash[n], substring(p_bytes FROM start FOR p_length[n]), p_now[n]
    FROM unnest(written, written_starts) AS u (n, start) WHERE p_length[n] IS NOT NULL;

    UPDATE workspaces w
    SET head_cursor = log_head + cardinality(written), live_files = w.live_files + added_files, document_bytes = held + added_bytes
    WHERE w.id = p_workspace;

    INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, created_at, updated_at)
    SELECT p_workspace, file, p_path[n], p_hash[n], p_size[n], version, p_now[n], p_now[n]
    FROM unnest(written, written_files, written_versions) AS u (n, file, version)
    ON CONFLICT ON CONSTRAINT files_path_unique DO UPDATE
    SET content_hash = excluded.content_hash, encrypted_size = excluded.encrypted_size, version = excluded.version,
        is_deleted = false, updated_at = excluded.updated_at;

    INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
    SELECT p_workspace, p_version[n], file, version, p_blob[n], p_hash[n], p_size[n], p_device[n], log_head + nth, p_now[n]
    FROM unnest(written, written_files, written_versions) WITH ORDINALITY AS u (n, file, version, nth);

    INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
    SELECT p_workspace, log_head + nth, file, 'upsert', p_hash[n], p_size[n], version, p_now[n], p_device[n]
    FROM unnest(written, written_files, written_versions) WITH ORDINALITY AS u (n, file, version, nth);
  END $$;
`;

const SINGLE_UPLOAD = `
  CREATE OR REPLACE FUNCTION put_document(
    p_workspace uuid, p_path text, p_hash text, p_size bigint, p_device text, p_now timestamptz,
    p_file uuid, p_version uuid, p_blob uuid, p_bytes bytea, p_if_match text[], p_if_absent boolean,
    p_elsewhere bigint, p_quota bigint,
    OUT outcome text, OUT file_id uuid, OUT file_version integer, OUT change_cursor bigint, OUT used_bytes bigint
  ) LANGUAGE sql AS $$
    SELECT outcome, file_id, file_version, change_cursor, used_bytes FROM put_documents(
      p_workspace, ARRAY[p_path], ARRAY[p_hash], ARRAY[p_size], ARRAY[p_device], ARRAY[p_now],
      ARRAY[p_file], ARRAY[p_version], ARRAY[p_blob], coalesce(p_bytes, ''), ARRAY[length(p_bytes)],
      ARRAY[array_to_string(p_if_match, ',')], ARRAY[p_if_absent], p_elsewhere, p_quota
    )
  $$;
`;
