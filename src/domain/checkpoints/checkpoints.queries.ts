import { ofWorkspace, statement } from '../../platform/database/index.js';

/** Formatted in SQL, in UTC: the contract's format has no time zone, and formatting in local time would shift it. */
const CREATED_AT = `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS "createdAt"`;

export const checkpointStatements = {
  /** Run it under the log's lock. Inserts nothing when $7 checkpoints exist already. */
  create: statement(
    'checkpoints.create',
    `WITH made AS (
       INSERT INTO {checkpoints} (workspace_id, id, encrypted_label, kind, cursor, created_at)
       SELECT $1::uuid, $2::uuid, $3::text, $4::text, $5::bigint, $6::timestamptz
       WHERE NOT EXISTS (SELECT 1 FROM {checkpoints} WHERE workspace_id = $1 OFFSET $7::integer - 1)
       RETURNING id, encrypted_label, kind, cursor, created_at
     )
     SELECT id, encrypted_label AS "encryptedLabel", kind, cursor, ${CREATED_AT} FROM made`,
  ),

  /**
   * Up to $5 checkpoints after a position ($2 to $4) in the list. One row without an id when there are none; no row
   * when the workspace does not exist. The position carries its time as PostgreSQL text: a Date would lose the
   * microseconds.
   */
  page: ofWorkspace(
    'checkpoints.page',
    `SELECT page.id, page."encryptedLabel", page.kind, page.cursor, page."createdAt", page.time::text AS "exactTime"
     FROM {workspaces} w
     LEFT JOIN LATERAL (
       SELECT id, encrypted_label AS "encryptedLabel", kind, cursor, ${CREATED_AT}, created_at AS time
       FROM {checkpoints}
       WHERE workspace_id = $1 AND (cursor, created_at, id) < ($2, $3::timestamptz, $4::uuid)
       ORDER BY cursor DESC, created_at DESC, id DESC LIMIT $5
     ) page ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY page.cursor DESC, page.time DESC, page.id DESC`,
  ),

  /**
   * Run it under the log's lock. Notes for retention that versions may have lost their pin. A new mark has cursor 0 and no rule:
   * retention then examines all files of the workspace, as it does without a mark.
   */
  delete: statement(
    'checkpoints.delete',
    `WITH gone AS (
       DELETE FROM {checkpoints} WHERE workspace_id = $1 AND id = $2 RETURNING id
     ), noted AS (
       INSERT INTO {retention_marks} (workspace_id, cursor, rule, has_unpinned)
       SELECT $1, 0, '', true WHERE EXISTS (SELECT 1 FROM gone)
       ON CONFLICT (workspace_id) DO UPDATE SET has_unpinned = true
     )
     SELECT id FROM gone`,
  ),
};

/** The three projections of the log, each one statement. $1 is the workspace. */
export const projectionStatements = {
  /**
   * A checkpoint, the log that it marks, and the cursor of the next checkpoint in the list (0 when it is the last).
   *
   * Run it before summary and manifest, in the same transaction, because it also sets the planner options. A plan
   * made for a small workspace, or from statistics of many small ones, uses nested loops, which took 45 s for 20,000
   * files. So both statements use custom plans and hash joins, whose cost is linear in the history, not quadratic.
   * JIT compilation of such a plan would take longer than running it.
   */
  begin: statement(
    'checkpoints.begin_projection',
    `SELECT c.cursor, w.head_cursor AS "headCursor", w.compaction_floor AS "compactionFloor",
            coalesce((
              SELECT older.cursor FROM {checkpoints} older
              WHERE older.workspace_id = $1
                AND (older.cursor, older.created_at, older.id) < (c.cursor, c.created_at, c.id)
              ORDER BY older.cursor DESC, older.created_at DESC, older.id DESC LIMIT 1
            ), 0) AS "olderCursor",
            set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_nestloop', 'off', true),
            set_config('jit', 'off', true)
     FROM {checkpoints} c JOIN {workspaces} w ON w.id = c.workspace_id
     WHERE c.workspace_id = $1 AND c.id = $2 AND w.deleted_at IS NULL`,
  ),

  /**
   * The window ($2, $3]: each path's last row in it, the number of rows that touch the path, and whether it was live
   * at the start.
   */
  summary: statement(
    'checkpoints.summary',
    `WITH touched AS (
       SELECT DISTINCT ON (file_id) file_id, path, cursor, action, version,
              count(*) OVER (PARTITION BY file_id) AS change_count
       FROM {changes} WHERE workspace_id = $1 AND cursor > $2 AND cursor <= $3
       ORDER BY file_id, cursor DESC
     ), before AS (
       SELECT DISTINCT ON (file_id) file_id, action
       FROM {changes} WHERE workspace_id = $1 AND cursor <= $2
       ORDER BY file_id, cursor DESC
     )
     SELECT touched.path AS "encryptedPath", touched.change_count AS "changeCount", touched.version AS "latestVersion",
            CASE
              WHEN touched.action = 'delete' THEN 'deleted'
              WHEN before.action = 'upsert' THEN 'modified'
              ELSE 'created'
            END AS action
     FROM touched
     LEFT JOIN before ON before.file_id = touched.file_id
     ORDER BY touched.cursor`,
  ),

  /**
   * Like `summary`, for a window of $4 changes that is small compared with the log before it: looks up the state at the start for
   * each file, so the cost grows with the window alone. ORDER BY `file_id` leaves the planner only the index on it.
   */
  smallSummary: statement(
    'checkpoints.small_summary',
    `WITH touched AS MATERIALIZED (
       SELECT DISTINCT ON (file_id) file_id, path, cursor, action, version,
              count(*) OVER (PARTITION BY file_id) AS change_count
       FROM (
         SELECT file_id, path, cursor, action, version FROM {changes}
         WHERE workspace_id = $1 AND cursor > $2 AND cursor <= $3 ORDER BY cursor LIMIT $4
       ) changed
       ORDER BY file_id, cursor DESC
     )
     SELECT path AS "encryptedPath",
            change_count AS "changeCount", version AS "latestVersion",
            CASE
              WHEN action = 'delete' THEN 'deleted'
              WHEN (
                SELECT before.action FROM {changes} before
                WHERE before.workspace_id = $1 AND before.file_id BETWEEN touched.file_id AND touched.file_id
                  AND before.cursor <= $2
                ORDER BY before.file_id, before.cursor DESC LIMIT 1
              ) = 'upsert' THEN 'modified'
              ELSE 'created'
            END AS action
     FROM touched
     ORDER BY cursor`,
  ),

  /**
   * Every path that is live now or was live at the cursor ($2), with its version on each side. A file's versions are
   * numbered by its upserts, so equal numbers mean the same version. A side's id is null for a legacy change without
   * a version row.
   */
  manifest: statement(
    'checkpoints.manifest',
    `WITH marked AS (
       SELECT DISTINCT ON (file_id) file_id, cursor, action, version
       FROM {changes} WHERE workspace_id = $1 AND cursor <= $2
       ORDER BY file_id, cursor DESC
     ), paths AS (
       SELECT f.id, f.encrypted_path, f.version, NOT f.is_deleted AS is_alive,
              coalesce(marked.action = 'upsert', false) AS was_alive, marked.version AS version_then, marked.cursor
       FROM {files} f LEFT JOIN marked ON marked.file_id = f.id
       WHERE f.workspace_id = $1
     )
     SELECT p.encrypted_path AS "encryptedPath",
            CASE
              WHEN NOT p.was_alive THEN 'delete'
              WHEN p.is_alive AND p.version = p.version_then THEN 'noop'
              ELSE 'restore'
            END AS op,
            now.id AS "beforeVersionId",
            CASE WHEN p.is_alive AND p.was_alive AND p.version = p.version_then THEN now.id ELSE past.id END AS "afterVersionId"
     FROM paths p
     LEFT JOIN {versions} now ON p.is_alive AND now.workspace_id = $1 AND now.file_id = p.id AND now.version = p.version
     LEFT JOIN {versions} past ON p.was_alive AND past.workspace_id = $1 AND past.file_id = p.id
       AND past.version = p.version_then AND past.change_cursor = p.cursor
     WHERE p.is_alive OR p.was_alive
     ORDER BY p.id`,
  ),

  /**
   * The last row of a path ($3) at or below the cursor of the checkpoint ($2), with its version's id. All nulls when
   * the path did not exist yet; no row when the checkpoint does not exist.
   */
  noteState: ofWorkspace(
    'checkpoints.note_state',
    `SELECT w.compaction_floor AS "compactionFloor", last.action, v.id AS "versionId"
     FROM {checkpoints} p
     JOIN {workspaces} w ON w.id = p.workspace_id AND w.deleted_at IS NULL
     LEFT JOIN {files} f ON f.workspace_id = $1 AND f.path_hash = sha256($3::text::bytea)
     LEFT JOIN LATERAL (
       SELECT cursor, action, version FROM {changes} c
       WHERE c.workspace_id = $1 AND c.file_id = f.id AND c.cursor <= p.cursor
       ORDER BY c.cursor DESC LIMIT 1
     ) last ON true
     LEFT JOIN {versions} v
       ON v.workspace_id = $1 AND v.file_id = f.id AND v.version = last.version AND v.change_cursor = last.cursor
     WHERE p.workspace_id = $1 AND p.id = $2`,
  ),
};
