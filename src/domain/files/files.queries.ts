import { ofWorkspace, statement } from '../../platform/database/index.js';
import { accessCondition, accessConditionOf, ofOpenWorkspace } from '../../access/index.js';

/** Evaluated once, before the rest of the statement. Without a user ($first) there is no access check. */
const isOpen = (first: number, condition = accessCondition): string =>
  `($${first}::uuid IS NULL OR EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = $1 AND ${condition(first)}))`;

const usageOf = (owner: string): string => `(
  SELECT coalesce(sum(o.document_bytes), 0)::bigint FROM {workspaces} o WHERE o.user_id = ${owner} AND o.deleted_at IS NULL)`;

/** Usage of all live workspaces of the owner of $1, except those that `but` excludes. */
const heldByOwner = (but = ''): string => `(
  SELECT coalesce(sum(o.document_bytes), 0)::bigint FROM {workspaces} o
  WHERE o.user_id = (SELECT w.user_id FROM {workspaces} w WHERE w.id = $1) AND o.deleted_at IS NULL${but})`;

/** The last arguments of the function: the usage of the owner's other workspaces, and the quota ($quota; null: unlimited). */
const held = (quota: number): string =>
  `CASE WHEN $${quota}::bigint IS NULL THEN 0 ELSE ${heldByOwner(' AND o.id <> $1')} END, $${quota}::bigint`;

const LIVE_HASH = `(
       SELECT content_hash FROM {files} WHERE workspace_id = $1 AND path_hash = sha256($2::text::bytea) AND NOT is_deleted
     ) AS "liveHash"`;

/** As text, ids sort in the same order as uuids. */
function purgeById(table: 'versions' | 'files'): string {
  return `WITH gone AS (
       DELETE FROM {${table}}
       WHERE workspace_id = $1 AND id IN (SELECT id FROM {${table}} WHERE workspace_id = $1 AND id > $3 ORDER BY id LIMIT $2)
       RETURNING id
     )
     SELECT count(*) AS removed, max(id::text) AS last FROM gone`;
}

export const fileStatements = {
  /**
   * Uploads to several workspaces in one commit, to different paths in each. $1: the workspaces; for each of them, $2: the
   * position in $5 of the user who must have access, and $3: the grace period. $7: for each upload, the position of its workspace
   * in $1. Returns the outcomes with the 1-based positions of the uploads. Writes and returns nothing for a workspace that is
   * closed to its user, locked or deleted. Never waits for a lock.
   */
  putTogether: statement(
    'files.put_together',
    `SELECT place, outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM (
       SELECT array_agg(l.head_cursor ORDER BY nth) AS heads, array_agg(l.document_bytes + (
         (ARRAY(SELECT ${usageOf('one.id')} FROM unnest($5::uuid[]) AS one (id) WHERE $6::bigint IS NOT NULL))[asked.owner]
         - (SELECT document_bytes FROM {workspaces} WHERE id = asked.id)
       ) ORDER BY nth) AS held
       FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS asked (id, owner, grace, nth)
       LEFT JOIN LATERAL (
         SELECT w.head_cursor, w.document_bytes FROM {workspaces} w
         WHERE w.id = asked.id AND ${accessConditionOf('($5::uuid[])[asked.owner]', '$4::timestamptz', 'asked.grace')}
         FOR NO KEY UPDATE SKIP LOCKED
       ) l ON true
     ) given CROSS JOIN LATERAL {put_documents_of_many}(
       $1, heads, held, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19
     )`,
    {
      // Accounts are not on the node. $2: owners, $3: usage of their other workspaces, $4: quota, $5: positions of workspaces.
      onNodes: `SELECT place, outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM (
       SELECT array_agg(l.head_cursor ORDER BY nth) AS heads, array_agg(l.document_bytes + asked.elsewhere ORDER BY nth) AS held
       FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS asked (id, owner, elsewhere, nth)
       LEFT JOIN LATERAL (
         SELECT w.head_cursor, w.document_bytes FROM {workspaces} w
         WHERE w.id = asked.id AND w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM asked.owner
         FOR NO KEY UPDATE OF w SKIP LOCKED
       ) l ON true
     ) given CROSS JOIN LATERAL {put_documents_of_many}(
       $1, heads, held, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
     )`,
      isOfWorkspace: true,
    },
  ),

  /**
   * Uploads to one workspace, each to a different path, in one commit. Waits for the lock of the workspace. Returns no row and
   * writes nothing when the caller has no access to the workspace. The function is defined in put-documents.sql.
   */
  put: statement(
    'files.put',
    `SELECT outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM {put_documents}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ${held(17)})
     WHERE ${isOpen(14)}`,
  ),

  /** The same when the owner's other workspaces are on other nodes: $17 is their usage, $18 the quota. */
  putOnNode: ofOpenWorkspace(
    'files.put_on_node',
    (
      condition,
    ) => `SELECT outcome, file_id AS "fileId", file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
     FROM {put_documents}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $17, $18)
     WHERE ${isOpen(14, condition)}`,
  ),

  /** Bytes used by the other live workspaces of the owner of $1. */
  heldElsewhere: statement(
    'files.held_elsewhere',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes" FROM {workspaces}
     WHERE user_id = (SELECT user_id FROM {workspaces} WHERE id = $1) AND id <> $1 AND deleted_at IS NULL`,
  ),

  /**
   * Usage of the account, and the hash of the live head that an upload to path $2 would replace. The write checks both again. On
   * a node, where the owner's other workspaces may be elsewhere, the usage is that of the workspace alone.
   */
  foreseen: statement(
    'files.foreseen',
    `SELECT true AS "isWhole", ${heldByOwner()} AS "usedBytes", ${LIVE_HASH}`,
    {
      onNodes: `SELECT false AS "isWhole", w.document_bytes AS "usedBytes", ${LIVE_HASH} FROM {workspaces} w WHERE w.id = $1`,
      isOfWorkspace: true,
    },
  ),

  /**
   * Up to $3 live files with ids after $2. One row without an id when there are none; no row when the workspace does
   * not exist.
   */
  page: ofWorkspace(
    'files.page',
    `SELECT page.* FROM {workspaces} w
     LEFT JOIN LATERAL (
       SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", encrypted_size AS "encryptedSize",
              version, created_at AS "createdAt", updated_at AS "updatedAt"
       FROM {files} WHERE workspace_id = $1 AND NOT is_deleted AND id > $2 ORDER BY id LIMIT $3
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
    ) => `SELECT asked.place::int, f.content_hash AS "contentHash", f.encrypted_size AS size, $1::uuid AS "workspaceId", b.*
     FROM unnest($2::text[]) WITH ORDINALITY AS asked (path, place)
     CROSS JOIN LATERAL (
       SELECT blob_id, content_hash, encrypted_size, is_deleted FROM {files}
       WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) LIMIT 1
     ) f
     CROSS JOIN LATERAL (SELECT id, location, bytes FROM {blobs} WHERE workspace_id = $1 AND id = f.blob_id LIMIT 1) b
     WHERE NOT f.is_deleted AND ${isOpen(3, condition)}`,
    true,
  ),

  /**
   * Deletes up to $2 rows of a deleted workspace above a key ($3), in key order. Each step leaves the rows that the next needs.
   */
  purgeChanges: statement(
    'files.purge_changes',
    `WITH gone AS (
       DELETE FROM {changes}
       WHERE workspace_id = $1 AND cursor IN (SELECT cursor FROM {changes} WHERE workspace_id = $1 AND cursor > $3 ORDER BY cursor LIMIT $2)
       RETURNING cursor
     )
     SELECT count(*) AS removed, max(cursor) AS last FROM gone`,
  ),
  purgeVersions: statement('files.purge_versions', purgeById('versions')),
  purgeFiles: statement('files.purge_files', purgeById('files')),
};

/** The log of a workspace, under its lock. */
export const logStatements = {
  lock: statement(
    'change_log.lock',
    `SELECT head_cursor AS "headCursor", compaction_floor AS "compactionFloor"
     FROM {workspaces} WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
  ),

  filesAt: statement(
    'change_log.files_at',
    `SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", version, is_deleted AS "isDeleted"
     FROM {files} WHERE workspace_id = $1 AND path_hash IN (SELECT sha256(path::bytea) FROM unnest($2::text[]) AS path)`,
  ),

  appendDeletions: statement(
    'change_log.append_deletions',
    `WITH gone AS (
       SELECT f.id, f.encrypted_path, f.content_hash, f.encrypted_size, f.version, asked.position
       FROM unnest($2::uuid[]) WITH ORDINALITY AS asked (id, position)
       JOIN {files} f ON f.workspace_id = $1 AND f.id = asked.id
     ), head AS (
       UPDATE {workspaces}
       SET head_cursor = head_cursor + cardinality($2::uuid[]), live_files = live_files - cardinality($2::uuid[])
       WHERE id = $1
       RETURNING head_cursor, head_cursor - cardinality($2::uuid[]) AS base
     ), logged AS (
       INSERT INTO {changes} (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
       SELECT $1, head.base + gone.position, gone.id, gone.encrypted_path, 'delete', gone.content_hash, gone.encrypted_size, gone.version, $3, $4
       FROM gone, head
     ), marked AS (
       UPDATE {files} SET is_deleted = true, updated_at = $3 WHERE workspace_id = $1 AND id = ANY ($2)
     )
     SELECT head_cursor AS "headCursor" FROM head`,
  ),
};

export const versionStatements = {
  /**
   * Up to $4 versions of a path with numbers below $3, newest first. One row without an id when there are none; no
   * row for an unknown path or workspace.
   */
  page: ofWorkspace(
    'versions.page',
    `SELECT page.* FROM {workspaces} w
     JOIN {files} f ON f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea)
     LEFT JOIN LATERAL (
       SELECT id, version, content_hash AS "contentHash", encrypted_size AS "encryptedSize", device_id AS "deviceId",
              created_at AS "createdAt", change_cursor AS "changeCursor"
       FROM {versions} WHERE workspace_id = $1 AND file_id = f.id AND version < $3 ORDER BY version DESC LIMIT $4
     ) page ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY page.version DESC`,
  ),

  /** One version of exactly this path, with the location of its bytes. */
  content: ofWorkspace(
    'versions.content',
    `SELECT v.version, v.created_at AS "createdAt", v.content_hash AS "contentHash", v.encrypted_size AS size,
            b.workspace_id AS "workspaceId", b.id, b.location, b.bytes
     FROM {files} f
     JOIN {versions} v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
     JOIN {blobs} b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
     WHERE f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea) AND v.id = $3`,
    true,
  ),

  /**
   * Makes a version's content the newest: inserts a version that shares its blob and a change row, and undeletes the
   * file. Run it under the log's lock. Returns no row when the path has no such version.
   */
  restore: statement(
    'versions.restore',
    `WITH source AS (
       SELECT f.id AS file_id, f.encrypted_path, f.version + 1 AS version, f.is_deleted, v.blob_id, v.content_hash, v.encrypted_size
       FROM {files} f JOIN {versions} v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
       WHERE f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea) AND v.id = $3
     ), head AS (
       UPDATE {workspaces} w
       SET head_cursor = w.head_cursor + 1, live_files = w.live_files + source.is_deleted::int
       FROM source WHERE w.id = $1
       RETURNING w.head_cursor AS cursor
     ), minted AS (
       INSERT INTO {versions} (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
       SELECT $1, $4, file_id, version, blob_id, content_hash, encrypted_size, $5, head.cursor, $6 FROM source, head
     ), logged AS (
       INSERT INTO {changes} (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
       SELECT $1, head.cursor, file_id, encrypted_path, 'upsert', content_hash, encrypted_size, version, $6, $5 FROM source, head
     ), headed AS (
       UPDATE {files} f
       SET blob_id = source.blob_id, content_hash = source.content_hash, encrypted_size = source.encrypted_size,
           version = source.version, is_deleted = false, updated_at = $6
       FROM source WHERE f.workspace_id = $1 AND f.id = source.file_id
     )
     SELECT file_id AS "fileId", version, content_hash AS "contentHash", encrypted_size AS "encryptedSize"
     FROM source`,
  ),
};

/**
 * The versions among $2 that are neither current nor pinned. A checkpoint pins the version that was a file's
 * newest at the checkpoint's cursor. So if any checkpoint pins a version, the first checkpoint at or after the
 * version's change does: then no other change of the file lies between the two.
 *
 * The lookups run one by one, in the order of their key (`BETWEEN` the key and itself, with ORDER BY): with sorts
 * disabled (`transactionSettings`) only the key's index qualifies. With `=`, any index that starts with the workspace
 * would qualify, and PostgreSQL rates it equally cheap if the workspace was small at the last ANALYZE; it would then
 * scan the whole workspace for each row.
 */
const EXPENDABLE = `
  SELECT v.place
  FROM unnest($2::uuid[]) AS asked (id)
  CROSS JOIN LATERAL (
    SELECT ctid AS place, file_id, version, change_cursor FROM {versions}
    WHERE workspace_id = $1 AND id BETWEEN asked.id AND asked.id ORDER BY id LIMIT 1
  ) v
  CROSS JOIN LATERAL (
    SELECT version FROM {files} WHERE workspace_id = $1 AND id BETWEEN v.file_id AND v.file_id ORDER BY id LIMIT 1
  ) f
  LEFT JOIN LATERAL (
    SELECT cursor FROM {checkpoints} WHERE workspace_id = $1 AND cursor >= v.change_cursor ORDER BY cursor LIMIT 1
  ) mark ON true
  WHERE f.version <> v.version AND (mark.cursor IS NULL OR v.change_cursor < (
    SELECT cursor FROM {changes}
    WHERE workspace_id = $1 AND file_id BETWEEN v.file_id AND v.file_id AND cursor <= mark.cursor
    ORDER BY file_id, cursor DESC LIMIT 1
  ))`;

export const thinningStatements = {
  /**
   * Run it first in the transaction. It makes every step an index lookup per row, so the cost grows with the number
   * of requested versions, not with the workspace. It also makes the commit asynchronous: if a power failure loses a
   * thinning, the next run repeats it.
   */
  transactionSettings: statement(
    'thinning.by_index',
    `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
            set_config('enable_mergejoin', 'off', true), set_config('enable_material', 'off', true),
            set_config('enable_sort', 'off', true), set_config('synchronous_commit', 'off', true)`,
  ),

  count: statement('thinning.count', `SELECT count(*) AS versions FROM (${EXPENDABLE}) expendable`),

  /**
   * A restored version shares the blob of its source, so a blob is marked `dying`, and stops counting as used, only
   * when its last version is removed. Versions are never updated, so their ctids are stable. Danger: a ctid is a place in one
   * partition; without the workspace, rows of other workspaces at that place would be deleted too.
   */
  remove: statement(
    'thinning.remove',
    `WITH gone AS (
       DELETE FROM {versions} WHERE workspace_id = $1 AND ctid = ANY (ARRAY (${EXPENDABLE})) RETURNING id, blob_id
     ), marked AS (
       UPDATE {blobs} b SET state = 'dying', not_before = $3
       WHERE b.workspace_id = $1 AND b.id = ANY (ARRAY (SELECT blob_id FROM gone)) AND b.state = 'live'
         AND (SELECT true FROM {versions}
              WHERE workspace_id = $1 AND blob_id BETWEEN b.id AND b.id AND id NOT IN (SELECT id FROM gone)
              ORDER BY blob_id LIMIT 1) IS NULL
       RETURNING b.size
     ), given_back AS (
       UPDATE {workspaces} SET document_bytes = greatest(document_bytes - (SELECT sum(size)::bigint FROM marked), 0)
       WHERE id = $1 AND EXISTS (SELECT 1 FROM marked)
     )
     SELECT (SELECT count(*) FROM gone) AS versions, count(*) AS blobs, coalesce(sum(size), 0)::bigint AS bytes FROM marked`,
  ),
};

/** Key of the advisory lock that serializes corrections of usage counters. */
const CORRECTION = 7_325_190_005;

export const usageStatements = {
  /**
   * Usage of user $1: the total and each workspace, oldest first; with $2, that workspace only. All from one
   * snapshot.
   */
  ofUser: statement(
    'usage.of_user',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes",
       coalesce(
         json_agg(json_build_object('id', id, 'usedBytes', document_bytes, 'files', live_files) ORDER BY id)
           FILTER (WHERE $2::uuid IS NULL OR id = $2), '[]'
       ) AS workspaces
     FROM {workspaces} WHERE user_id = $1 AND deleted_at IS NULL`,
  ),

  /**
   * The next workspace after $1, with its usage counter and its actual usage: the blobs that its versions refer to,
   * each counted once.
   */
  next: statement(
    'usage.next',
    `SELECT w.id AS "workspaceId", w.document_bytes AS "usedBytes", (
       SELECT coalesce(sum(b.size), 0)::bigint FROM {blobs} b
       WHERE b.workspace_id = w.id
         AND EXISTS (SELECT 1 FROM {versions} v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
     ) AS "actualBytes"
     FROM {workspaces} w WHERE w.id > $1 AND w.deleted_at IS NULL ORDER BY w.id LIMIT 1`,
  ),

  /** Held until the connection ends. Two concurrent corrections would add the same difference twice. */
  correctAlone: statement('usage.correct_alone', `SELECT pg_advisory_lock(${CORRECTION})`),

  /** Adds a difference: concurrent writes change both sums equally, so the difference stays valid. */
  correct: statement(
    'usage.correct',
    `UPDATE {workspaces} SET document_bytes = document_bytes + $2 WHERE id = $1`,
  ),
};

/**
 * Tables that name a workspace without a foreign key to it, and the rows to check: the sweeper removes blobs that are not live.
 */
const OF_WORKSPACE = [
  ['blobs', "state = 'live'"],
  ['files', 'true'],
  ['versions', 'true'],
  ['changes', 'true'],
] as const;

/** Skips along the table's key, so that each workspace that the rows name is looked up once. */
const withoutWorkspace = ([table, condition]: (typeof OF_WORKSPACE)[number]): string => `
  (WITH RECURSIVE named (id) AS (
     (SELECT workspace_id FROM {${table}} ORDER BY workspace_id LIMIT 1)
     UNION ALL
     SELECT (SELECT workspace_id FROM {${table}} WHERE workspace_id > named.id ORDER BY workspace_id LIMIT 1)
     FROM named WHERE named.id IS NOT NULL
   )
   SELECT '${table}' AS "table", id AS "workspaceId" FROM named
   WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = named.id)
     AND EXISTS (SELECT 1 FROM {${table}} WHERE workspace_id = named.id AND ${condition}))`;

/** The same for the engine, which does not support such a recursion: it reads all rows. */
const withoutWorkspaceOnNodes = ([table, condition]: (typeof OF_WORKSPACE)[number]): string => `
  SELECT '${table}' AS "table", workspace_id AS "workspaceId"
  FROM (SELECT DISTINCT workspace_id FROM {${table}} WHERE ${condition}) named
  WHERE NOT EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = named.workspace_id)`;

export const rowsStatements = {
  withoutWorkspace: statement(
    'rows_check.without_workspace',
    OF_WORKSPACE.map(withoutWorkspace).join(' UNION ALL '),
    { onNodes: OF_WORKSPACE.map(withoutWorkspaceOnNodes).join(' UNION ALL ') },
  ),

  /** Reads one snapshot. Returns nothing for a deleted workspace, whose purge removes the rows step by step. */
  faults: statement(
    'rows_check.faults',
    `SELECT kind, count(*) AS rows, min(example) AS example FROM (
       SELECT CASE WHEN v.id IS NULL THEN 'heads without version'
                   WHEN v.blob_id <> f.blob_id OR v.content_hash <> f.content_hash
                     OR v.encrypted_size <> f.encrypted_size THEN 'heads that differ' END AS kind, f.id::text AS example
       FROM {files} f
       LEFT JOIN {versions} v ON v.workspace_id = $1 AND v.file_id = f.id AND v.version = f.version
       WHERE f.workspace_id = $1
       UNION ALL
       SELECT CASE WHEN f.id IS NULL THEN 'changes without file'
                   WHEN f.encrypted_path <> c.path THEN 'paths that differ' END, c.cursor::text
       FROM {changes} c LEFT JOIN {files} f ON f.workspace_id = $1 AND f.id = c.file_id
       WHERE c.workspace_id = $1
       UNION ALL
       SELECT 'versions without file', v.id::text
       FROM {versions} v LEFT JOIN {files} f ON f.workspace_id = $1 AND f.id = v.file_id
       WHERE v.workspace_id = $1 AND f.id IS NULL
       UNION ALL
       SELECT 'versions without blob', v.id::text
       FROM {versions} v LEFT JOIN {blobs} b ON b.workspace_id = $1 AND b.id = v.blob_id
       WHERE v.workspace_id = $1 AND b.id IS NULL
     ) found
     WHERE kind IS NOT NULL AND EXISTS (SELECT 1 FROM {workspaces} WHERE id = $1 AND deleted_at IS NULL)
     GROUP BY kind ORDER BY kind`,
  ),

  correctHeads: statement(
    'rows_check.correct_heads',
    `UPDATE {files} f SET blob_id = v.blob_id, content_hash = v.content_hash, encrypted_size = v.encrypted_size
     FROM {versions} v
     WHERE f.workspace_id = $1 AND v.workspace_id = $1 AND v.file_id = f.id AND v.version = f.version
       AND (v.blob_id, v.content_hash, v.encrypted_size) IS DISTINCT FROM (f.blob_id, f.content_hash, f.encrypted_size)`,
  ),

  correctPaths: statement(
    'rows_check.correct_paths',
    `UPDATE {changes} c SET path = f.encrypted_path FROM {files} f
     WHERE c.workspace_id = $1 AND f.workspace_id = $1 AND f.id = c.file_id AND f.encrypted_path <> c.path`,
  ),
};
