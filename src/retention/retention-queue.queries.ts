import { statement } from '../platform/database/index.js';

/** Losing the commit in a power failure is harmless: the next run repeats what depends on it. */
const WITHOUT_WAITING = `set_config('synchronous_commit', 'off', true)`;

const dueOf = (page: string): string =>
  `SELECT (array_agg(id ORDER BY id DESC))[1] AS last, coalesce(array_agg(id ORDER BY id) FILTER (WHERE is_due), '{}') AS ids
     FROM (
       SELECT w.id, CASE
           WHEN m.cursor IS NULL THEN w.head_cursor > 0
           ELSE m.cursor <> w.head_cursor OR m.has_unpinned OR m.rule <> $4
             OR EXISTS (SELECT 1 FROM retention_queue q WHERE q.workspace_id = w.id AND q.due_at < $3)
         END AS is_due
       FROM ${page}
     ) page`;

export const queueStatements = {
  /**
   * Of the next $2 workspaces above $1, those with something to do as of $3 under the rule $4: the log has grown, a checkpoint
   * has been deleted, the rule is another one, or a file is due. Returns a single row, also with the last workspace of all.
   */
  dueWorkspaces: statement(
    'retention.due_workspaces',
    dueOf(`(SELECT id, head_cursor FROM workspaces WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2) w
       LEFT JOIN retention_marks m ON m.workspace_id = w.id`),
    {
      onNodes: dueOf(`workspaces w LEFT JOIN retention_marks m ON m.workspace_id = w.id
       WHERE w.id > $1 AND w.deleted_at IS NULL ORDER BY w.id LIMIT $2`),
    },
  ),

  /** How far the log of a workspace reaches and how far it was read under the rule $2; 0 when not at all. */
  progress: statement(
    'retention.progress_of_workspace',
    `SELECT w.head_cursor AS "headCursor", coalesce(m.cursor, 0) AS cursor, coalesce(m.has_unpinned, false) AS "hasUnpinned"
     FROM workspaces w LEFT JOIN retention_marks m ON m.workspace_id = w.id AND m.rule = $2
     WHERE w.id = $1 AND w.deleted_at IS NULL`,
  ),

  /** Makes up to $3 files above $2 due that have more than one version. Returns the last one; null when there is none. */
  addAll: statement(
    'retention.queue_all',
    `WITH page AS MATERIALIZED (
       SELECT id FROM files WHERE workspace_id = $1 AND id > $2 AND version > 1 ORDER BY id LIMIT $3
     ), added AS (
       INSERT INTO retention_queue AS q (workspace_id, file_id, due_at)
       SELECT $1, id, '-infinity' FROM page ORDER BY id
       ON CONFLICT (workspace_id, file_id) DO UPDATE SET due_at = excluded.due_at, revision = q.revision + 1
     )
     SELECT max(id::text) AS last, count(*) = $3 AS "hasMore", ${WITHOUT_WAITING} FROM page`,
  ),

  /** Notes that the log was read up to $2 under the rule $3, after `addAll`. */
  markAll: statement(
    'retention.mark_all',
    `WITH marked AS (
       INSERT INTO retention_marks AS m (workspace_id, cursor, rule) SELECT id, $2, $3 FROM workspaces WHERE id = $1
       ON CONFLICT (workspace_id) DO UPDATE SET cursor = excluded.cursor, rule = excluded.rule
     )
     SELECT ${WITHOUT_WAITING}`,
  ),

  /**
   * Reads up to $3 changes above $2, makes the files due that have got another version, and notes how far the log was read.
   * Does not note it when another run has meanwhile. Head and changes are of one snapshot, in which no change below the head
   * is missing.
   */
  addChanged: statement(
    'retention.queue_changed',
    `WITH page AS MATERIALIZED (
       SELECT cursor, file_id, action FROM changes WHERE workspace_id = $1 AND cursor > $2 ORDER BY cursor LIMIT $3
     ), added AS (
       INSERT INTO retention_queue AS q (workspace_id, file_id, due_at)
       SELECT $1, file_id, '-infinity' FROM (SELECT DISTINCT file_id FROM page WHERE action = 'upsert') changed
       WHERE (SELECT version FROM files WHERE workspace_id = $1 AND id = file_id) > 1
       ORDER BY file_id
       ON CONFLICT (workspace_id, file_id) DO UPDATE SET due_at = excluded.due_at, revision = q.revision + 1
     ), read AS (
       SELECT CASE WHEN count(*) < $3 THEN (SELECT head_cursor FROM workspaces WHERE id = $1) ELSE max(cursor) END AS cursor
       FROM page
     ), marked AS (
       UPDATE retention_marks m SET cursor = read.cursor FROM read WHERE workspace_id = $1 AND m.cursor = $2
     )
     SELECT cursor AS last, (SELECT count(*) FROM page) = $3 AS "hasMore", ${WITHOUT_WAITING} FROM read`,
  ),

  /**
   * After checkpoints were deleted: makes the files due that have pinned versions. The files that are due before $2 are told
   * apart from what another run has read of them, which may have seen them as pinned.
   */
  addUnpinned: statement(
    'retention.queue_unpinned',
    `WITH noted AS (
       UPDATE retention_marks SET has_unpinned = false WHERE workspace_id = $1 AND has_unpinned RETURNING workspace_id
     ), added AS (
       UPDATE retention_queue SET due_at = '-infinity', revision = revision + 1
       WHERE workspace_id = $1 AND (is_pinned OR due_at < $2) AND EXISTS (SELECT 1 FROM noted)
     )
     SELECT ${WITHOUT_WAITING}`,
  ),

  /**
   * Up to $5 files that are due as of $2, after a position ($3, $4); fewer if the files so far already have $6 versions.
   * `version` counts all versions that a file ever had, so it is an upper bound. The time is PostgreSQL text: a Date would
   * lose infinity and microseconds.
   */
  dueFiles: statement(
    'retention.due_files',
    `SELECT "fileId", revision, "dueAt" FROM (
       SELECT q.file_id AS "fileId", q.revision, q.due_at::text AS "dueAt", q.due_at,
              sum(f.version) OVER (ORDER BY q.due_at, q.file_id) - f.version AS versions_before
       FROM (
         SELECT file_id, revision, due_at FROM retention_queue
         WHERE workspace_id = $1 AND due_at < $2 AND (due_at, file_id) > ($3::timestamptz, $4::uuid)
         ORDER BY due_at, file_id LIMIT $5
       ) q
       CROSS JOIN LATERAL (SELECT version FROM files WHERE workspace_id = $1 AND id = q.file_id LIMIT 1) f
     ) due
     WHERE versions_before < $6
     ORDER BY due_at, "fileId"`,
  ),

  /** Which files the versions $2 belong to that still exist. */
  filesOf: statement(
    'retention.files_of_versions',
    `SELECT DISTINCT v.file_id AS "fileId" FROM unnest($2::uuid[]) AS asked (id)
     CROSS JOIN LATERAL (
       SELECT file_id FROM versions WHERE workspace_id = $1 AND id BETWEEN asked.id AND asked.id ORDER BY id LIMIT 1
     ) v`,
  ),

  /**
   * Notes when files ($2, as read at the revisions $3) are due next ($4, null for never) and which ones have pinned versions
   * ($5); those are looked at again at $6 at the latest. Leaves a file alone that was made due meanwhile.
   */
  settle: statement(
    'retention.settle',
    `WITH next AS MATERIALIZED (
       SELECT n.file_id, n.revision, n.is_pinned, CASE WHEN n.is_pinned THEN least(n.due_at, $6) ELSE n.due_at END AS due_at
       FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[], $5::boolean[]) AS n (file_id, revision, due_at, is_pinned)
     ), kept AS (
       UPDATE retention_queue q SET due_at = next.due_at, is_pinned = next.is_pinned
       FROM next WHERE q.workspace_id = $1 AND q.file_id = next.file_id AND q.revision = next.revision AND next.due_at IS NOT NULL
     ), removed AS (
       DELETE FROM retention_queue q USING next
       WHERE q.workspace_id = $1 AND q.file_id = next.file_id AND q.revision = next.revision AND next.due_at IS NULL
     )
     SELECT ${WITHOUT_WAITING}`,
  ),

  purge: statement(
    'retention.purge_queue',
    `DELETE FROM retention_queue
     WHERE workspace_id = $1 AND file_id IN (SELECT file_id FROM retention_queue WHERE workspace_id = $1 LIMIT $2)
     RETURNING file_id`,
  ),
};
