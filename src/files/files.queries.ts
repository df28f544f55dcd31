import { ofWorkspace, statement } from '../platform/database/index.js';
import { accessCondition, accessConditionOf, ofOpenWorkspace } from '../access/guards/index.js';

/** Evaluated once, before the rest of the statement. Without a user ($first) there is no access check. */
const isOpen = (first: number, condition = accessCondition): string =>
  `($${first}::uuid IS NULL OR EXISTS (SELECT 1 FROM workspaces w WHERE w.id = $1 AND ${condition(first)}))`;

const usageOf = (owner: string): string => `(
  SELECT coalesce(sum(o.document_bytes), 0)::bigint FROM workspaces o WHERE o.user_id = ${owner} AND o.deleted_at IS NULL)`;

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

/** The highest id as text is the highest of uuids. */
function purgeById(table: 'versions' | 'files'): string {
  return `WITH gone AS (
       DELETE FROM ${table}
       WHERE workspace_id = $1 AND id IN (SELECT id FROM ${table} WHERE workspace_id = $1 AND id > $3 ORDER BY id LIMIT $2)
       RETURNING id
     )
     SELECT count(*) AS removed, max(id::text) AS last FROM gone`;
}

export const fileStatements = {
  /**
   * Uploads to several workspaces in one commit, to different paths of each workspace. $1 to $3 are the workspaces, with the
   * place of the user who must have access among the users ($5), and the grace period; $7 are the places of the uploads'
   * workspaces among these. Returns the outcomes with the 1-based places of the uploads; none for a workspace that is closed
   * to its user, locked by somebody else, or deleted: nothing is written there. Never waits for a lock.
   */
  putTogether: statement(
    'files.put_together',
    `SELECT place, outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM (
       SELECT array_agg(l.head_cursor ORDER BY nth) AS heads, array_agg(l.document_bytes + (
         (ARRAY(SELECT ${usageOf('one.id')} FROM unnest($5::uuid[]) AS one (id) WHERE $6::bigint IS NOT NULL))[asked.owner]
         - (SELECT document_bytes FROM workspaces WHERE id = asked.id)
       ) ORDER BY nth) AS held
       FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS asked (id, owner, grace, nth)
       LEFT JOIN LATERAL (
         SELECT w.head_cursor, w.document_bytes FROM workspaces w
         WHERE w.id = asked.id AND ${accessConditionOf('($5::uuid[])[asked.owner]', '$4::timestamptz', 'asked.grace')}
         FOR NO KEY UPDATE SKIP LOCKED
       ) l ON true
     ) given CROSS JOIN LATERAL put_documents_of_many(
       $1, heads, held, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19
     )`,
    {
      // $2 are the owners, $3 what their other workspaces hold, $4 the quota, $5 the places: accounts are not on the node.
      onPart: `SELECT place, outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM (
       SELECT array_agg(l.head_cursor ORDER BY nth) AS heads, array_agg(l.document_bytes + asked.elsewhere ORDER BY nth) AS held
       FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS asked (id, owner, elsewhere, nth)
       LEFT JOIN LATERAL (
         SELECT w.head_cursor, w.document_bytes FROM workspaces w
         WHERE w.id = asked.id AND w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM asked.owner
         FOR NO KEY UPDATE OF w SKIP LOCKED
       ) l ON true
     ) given CROSS JOIN LATERAL put_documents_of_many(
       $1, heads, held, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
     )`,
    },
  ),

  /**
   * Uploads to one workspace, each to a different path, in one commit. Waits for the lock of the workspace. Returns no row and
   * writes nothing when the caller has no access to the workspace. The function is defined in the migrations.
   */
  put: statement(
    'files.put',
    `SELECT outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM put_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ${held(17)})
     WHERE ${isOpen(14)}`,
  ),

  /** The same where the owner's other workspaces are on other nodes: $17 is what they hold, $18 the quota. */
  putOnNode: ofOpenWorkspace(
    'files.put_on_node',
    (
      condition,
    ) => `SELECT outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM put_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $17, $18)
     WHERE ${isOpen(14, condition)}`,
  ),

  /** What the workspaces $1 hold. */
  heldElsewhere: statement(
    'files.held_elsewhere',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes" FROM workspaces
     WHERE id = ANY ($1::uuid[]) AND deleted_at IS NULL`,
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

  /** The same with the usage of the workspace alone, where the owner's others are on other nodes. */
  foreseenOnNode: ofWorkspace(
    'files.foreseen_on_node',
    `SELECT w.document_bytes AS "usedBytes", (
       SELECT content_hash FROM files WHERE workspace_id = $1 AND path_hash = sha256($2::text::bytea) AND NOT is_deleted
     ) AS "liveHash"
     FROM workspaces w WHERE w.id = $1`,
  ),

  /**
   * Up to $3 live files with ids after $2. One row without an id when there are none; no row when the workspace does
   * not exist.
   */
  page: ofWorkspace(
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
  heads: ofOpenWorkspace(
    'files.heads',
    (
      condition,
    ) => `SELECT asked.place::int, v.content_hash AS "contentHash", v.encrypted_size AS size, $1::uuid AS "workspaceId", b.*
     FROM unnest($2::text[]) WITH ORDINALITY AS asked (path, place)
     CROSS JOIN LATERAL (
       SELECT id, version, is_deleted FROM files WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) LIMIT 1
     ) f
     CROSS JOIN LATERAL (
       SELECT blob_id, content_hash, encrypted_size FROM versions
       WHERE workspace_id = $1 AND file_id = f.id AND version = f.version LIMIT 1
     ) v
     CROSS JOIN LATERAL (SELECT id, location, bytes FROM blobs WHERE workspace_id = $1 AND id = v.blob_id LIMIT 1) b
     WHERE NOT f.is_deleted AND ${isOpen(3, condition)}`,
  ),

  /**
   * Up to $2 rows of a deleted workspace's history above a key ($3), in its order. Each statement keeps the rows that the
   * following one needs.
   */
  purgeChanges: statement(
    'files.purge_changes',
    `WITH gone AS (
       DELETE FROM changes
       WHERE workspace_id = $1 AND cursor IN (SELECT cursor FROM changes WHERE workspace_id = $1 AND cursor > $3 ORDER BY cursor LIMIT $2)
       RETURNING cursor
     )
     SELECT count(*) AS removed, max(cursor) AS last FROM gone`,
  ),
  purgeVersions: statement('files.purge_versions', purgeById('versions')),
  purgeFiles: statement('files.purge_files', purgeById('files')),
};
