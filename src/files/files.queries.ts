import { statement } from '../platform/database/index.js';

export const fileStatements = {
  /** One upload: the function is in the migration that made the tables. */
  put: statement(
    'files.put',
    `SELECT outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor
     FROM put_file($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
  ),

  /** Up to $3 live files whose ids come after $2. */
  page: statement(
    'files.page',
    `SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", encrypted_size AS "encryptedSize",
            version, created_at AS "createdAt", updated_at AS "updatedAt"
     FROM files WHERE workspace_id = $1 AND NOT is_deleted AND id > $2 ORDER BY id LIMIT $3`,
  ),

  /** The live head of a path with where its bytes are. */
  head: statement(
    'files.head',
    `SELECT v.content_hash AS "contentHash", v.encrypted_size AS size, b.workspace_id AS "workspaceId", b.id,
            b.location, b.bytes
     FROM files f
     JOIN versions v ON v.workspace_id = f.workspace_id AND v.file_id = f.id AND v.version = f.version
     JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
     WHERE f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea) AND NOT f.is_deleted`,
  ),

  /** Up to $2 rows of a deleted workspace's history; each statement leaves the rows that the next one needs. */
  purgeChanges: statement(
    'files.purge_changes',
    `DELETE FROM changes WHERE workspace_id = $1 AND cursor IN (SELECT cursor FROM changes WHERE workspace_id = $1 LIMIT $2)
     RETURNING cursor`,
  ),
  purgeVersions: statement(
    'files.purge_versions',
    `DELETE FROM versions WHERE workspace_id = $1 AND id IN (SELECT id FROM versions WHERE workspace_id = $1 LIMIT $2)
     RETURNING id`,
  ),
  purgeFiles: statement(
    'files.purge_files',
    `DELETE FROM files WHERE workspace_id = $1 AND id IN (SELECT id FROM files WHERE workspace_id = $1 LIMIT $2)
     RETURNING id`,
  ),
};
