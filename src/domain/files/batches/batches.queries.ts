import { ofOpenWorkspace } from '../../../access/index.js';

export const batchStatements = {
  /**
   * The live heads of paths ($2), with their 1-based positions among the paths. The location of a content comes with its head
   * unless it is the one that the client has ($3, by position) or has more than $5 bytes. As soon as the contents have more than
   * $4 bytes, the heads are cut off. No rows when the caller has no access to the workspace; otherwise a row for each path. Each
   * table is read by its key alone (LIMIT 1): with a join the planner could choose to scan the workspace.
   */
  heads: ofOpenWorkspace(
    'batches.heads',
    (access) => `SELECT head.version, head.hash AS "contentHash", head.size, $1::uuid AS "workspaceId",
            head.is_wanted AND head.total > $4 AS "isCutOff", b.*
     FROM (
       SELECT asked.place, f.version, f.hash, f.size, f.blob_id, wanted.is_wanted,
              sum(CASE WHEN wanted.is_wanted THEN f.size END) OVER (ORDER BY asked.place) AS total
       FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS asked (path, has, place)
       LEFT JOIN LATERAL (
         SELECT version, blob_id, content_hash AS hash, encrypted_size AS size FROM {files}
         WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) AND NOT is_deleted LIMIT 1
       ) f ON true
       CROSS JOIN LATERAL (
         SELECT f.version IS NOT NULL AND f.size <= $5 AND f.hash IS DISTINCT FROM asked.has AS is_wanted
       ) wanted
     ) head
     LEFT JOIN LATERAL (
       SELECT id, location, bytes FROM {blobs} WHERE workspace_id = $1 AND id = head.blob_id LIMIT 1
     ) b ON head.is_wanted AND head.total <= $4
     WHERE EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = $1 AND ${access(6)})
     ORDER BY head.place`,
    true,
  ),

  /** No row when the caller has no access to the workspace. */
  head: ofOpenWorkspace(
    'batches.head',
    (access) => `SELECT w.head_cursor AS cursor FROM {workspaces} w WHERE w.id = $1 AND ${access(2)}`,
  ),
};
