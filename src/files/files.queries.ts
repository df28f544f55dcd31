import { statement } from '../platform/database/index.js';
import { accessCondition } from '../access/guards/index.js';

/** Evaluated once, before the rest of the statement. Without a user ($first) there is no access check. */
const isOpen = (first: number): string =>
  `($${first}::uuid IS NULL OR EXISTS (SELECT FROM workspaces w WHERE w.id = $1 AND ${accessCondition(first)}))`;

/** Usage of all live workspaces of the owner of $1, except those that `but` excludes. */
const heldByOwner = (but = ''): string => `(
  SELECT coalesce(sum(o.document_bytes), 0)::bigint FROM workspaces o
  WHERE o.user_id = (SELECT w.user_id FROM workspaces w WHERE w.id = $1) AND o.deleted_at IS NULL${but})`;

/**
 * The last arguments of the function: the usage of the owner's other workspaces, and the quota ($quota), null for
 * unlimited.
 */
const held = (quota: number): string =>
  `CASE WHEN $${quota}::bigint IS NULL THEN 0 ELSE ${heldByOwner(' AND o.id <> $1')} END, $${quota}::bigint`;

export const fileStatements = {
  /**
   * Uploads to one workspace, each to a different path, in one commit. Returns no row and writes nothing when the caller
   * has no access to the workspace. The function is defined in the migrations.
   */
  put: statement(
    'files.put',
    `SELECT outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM put_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ${held(17)})
     WHERE ${isOpen(14)}`,
  ),

  /**
   * Usage of the account, and the hash of the live head that an upload to path $2 would replace. The write checks
   * both again.
   */
  foreseen: statement(
    'files.foreseen',
    `SELECT ${heldByOwner()} AS "usedBytes", (
       SELECT content_hash FROM files WHERE workspace_id = $1 AND path_hash = sha256($2::text::bytea) AND NOT is_deleted
     ) AS "liveHash"`,
  ),

  /**
   * Up to $3 live files with ids after $2. One row without an id when there are none; no row when the workspace does
   * not exist.
   */
  page: statement(
    'files.page',
    `SELECT page.* FROM workspaces w
     LEFT JOIN LATERAL (
       SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", encrypted_size AS "encryptedSize",
              version, created_at AS "createdAt", updated_at AS "updatedAt"
       FROM files WHERE workspace_id = $1 AND NOT is_deleted AND id > $2 ORDER BY id LIMIT $3
     ) page ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY page.id`,
  ),

  /**
   * The live heads of paths ($2), with the location of their bytes and their 1-based positions among the paths. No
   * rows when the caller has no access to the workspace. Each table is read by its key alone (LIMIT 1): with a join
   * the planner could choose to scan the workspace.
   */
  heads: statement(
    'files.heads',
    `SELECT asked.place::int, v.content_hash AS "contentHash", v.encrypted_size AS size, $1::uuid AS "workspaceId", b.*
     FROM unnest($2::text[]) WITH ORDINALITY AS asked (path, place)
     CROSS JOIN LATERAL (
       SELECT id, version, is_deleted FROM files WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) LIMIT 1
     ) f
     CROSS JOIN LATERAL (
       SELECT blob_id, content_hash, encrypted_size FROM versions
       WHERE workspace_id = $1 AND file_id = f.id AND version = f.version LIMIT 1
     ) v
     CROSS JOIN LATERAL (SELECT id, location, bytes FROM blobs WHERE workspace_id = $1 AND id = v.blob_id LIMIT 1) b
     WHERE NOT f.is_deleted AND ${isOpen(3)}`,
  ),

  /** Up to $2 rows of a deleted workspace's history. Each statement keeps the rows that the following one needs. */
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
