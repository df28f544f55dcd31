import { statement } from '../platform/database/index.js';

export const noteStatements = {
  /**
   * The live heads of these paths, with where their bytes are; the bytes of inline ones come along up to size $3.
   * Looked up path by path, whatever the planner thinks of the workspace's size.
   */
  heads: statement(
    'automation.heads',
    `SELECT f.encrypted_path AS "encryptedPath", f.version, f.content_hash AS "contentHash", f.updated_at AS "updatedAt",
            v.encrypted_size AS size, b.workspace_id AS "workspaceId", b.id, b.location,
            CASE WHEN v.encrypted_size <= $3 THEN b.bytes END AS bytes
     FROM unnest($2::text[]) AS asked (path)
     CROSS JOIN LATERAL (
       SELECT * FROM files WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) AND NOT is_deleted
     ) f
     JOIN versions v ON v.workspace_id = $1 AND v.file_id = f.id AND v.version = f.version
     JOIN blobs b ON b.workspace_id = $1 AND b.id = v.blob_id`,
  ),

  /** When a version was written. */
  writtenAt: statement(
    'automation.written_at',
    'SELECT created_at AS "writtenAt" FROM versions WHERE workspace_id = $1 AND file_id = $2 AND version = $3',
  ),
};
