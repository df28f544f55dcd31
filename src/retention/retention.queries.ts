import { statement } from '../platform/database/index.js';
import { KEPT_MS } from './retention-rule.js';

/** Hours, not days: a day of a time zone may have 23. */
const after = (resolution: keyof typeof KEPT_MS): string =>
  `interval '${KEPT_MS[resolution] / (60 * 60_000)} hours'`;

export const retentionStatements = {
  progress: statement('retention.progress', 'SELECT as_of AS "asOf" FROM retention_progress'),

  saveProgress: statement(
    'retention.save_progress',
    `INSERT INTO retention_progress (as_of) VALUES ($1) ON CONFLICT (id) DO UPDATE SET as_of = excluded.as_of`,
  ),

  /** Up to $2 workspaces above $1. */
  workspaces: statement(
    'retention.workspaces',
    'SELECT id FROM workspaces WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2',
  ),

  /**
   * Run it first in a transaction that reads histories: a plan made for a small workspace would scan a large one row
   * by row.
   */
  planAnew: statement(
    'retention.plan_anew',
    `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`,
  ),

  /**
   * The next $3 files above $2 with more than one version; fewer if the files so far already have $4 versions.
   * `version` counts all versions that a file ever had, so it is an upper bound.
   */
  files: statement(
    'retention.files',
    `SELECT id FROM (
       SELECT id, sum(version) OVER (ORDER BY id) - version AS versions_before
       FROM (SELECT id, version FROM files WHERE workspace_id = $1 AND id > $2 AND version > 1 ORDER BY id LIMIT $3) next
     ) f
     WHERE versions_before < $4
     ORDER BY id`,
  ),

  /**
   * The bucket rule of retention-rule.ts over the files $2: versions that have a newer one in their bucket. $3, $4
   * and $5 are the cutoffs. Returns up to $8 versions after the position of file $6 and cursor $7. Whether a version
   * is current or pinned is not checked yet. Returns a single row with all ids and the last file and cursor, which are
   * null when there are none.
   *
   * Also returns, whatever the position, when the other versions will be superseded: of each file, the first time after
   * which a version has passed into a bucket that has a newer one. Without further uploads nothing is superseded before.
   */
  superseded: statement(
    'retention.superseded',
    `WITH ranked AS MATERIALIZED (
       SELECT id, file_id, change_cursor,
              change_cursor < CASE
                WHEN created_at >= $3::timestamptz THEN NULL
                WHEN created_at >= $4::timestamptz THEN newest_of_hour
                WHEN created_at >= $5::timestamptz THEN newest_of_day
                ELSE newest_of_week
              END AS is_superseded,
              created_at + CASE
                WHEN created_at >= $3::timestamptz AND change_cursor < newest_of_hour THEN ${after('all')}
                WHEN created_at >= $4::timestamptz AND change_cursor < newest_of_day THEN ${after('hourly')}
                WHEN created_at >= $5::timestamptz AND change_cursor < newest_of_week THEN ${after('daily')}
              END AS due_at
       FROM (
         SELECT id, file_id, change_cursor, created_at,
                max(change_cursor) OVER (PARTITION BY file_id, week) AS newest_of_week,
                max(change_cursor) OVER (PARTITION BY file_id, week, day) AS newest_of_day,
                max(change_cursor) OVER (PARTITION BY file_id, week, day, hour) AS newest_of_hour
         FROM (
           SELECT id, file_id, change_cursor, created_at, date_trunc('week', created_at, 'UTC') AS week,
                  date_trunc('day', created_at, 'UTC') AS day, date_trunc('hour', created_at, 'UTC') AS hour
           FROM versions WHERE workspace_id = $1 AND file_id = ANY ($2::uuid[])
         ) dated
       ) v
     ), page AS (
       SELECT array_agg(id ORDER BY place)::text AS "versionIds", count(*) AS versions,
              (array_agg(file_id ORDER BY place DESC))[1] AS "fileId", (array_agg(change_cursor ORDER BY place DESC))[1] AS cursor
       FROM (
         SELECT id, file_id, change_cursor, row_number() OVER (ORDER BY file_id, change_cursor) AS place
         FROM ranked WHERE is_superseded AND (file_id, change_cursor) > ($6::uuid, $7::bigint)
         ORDER BY file_id, change_cursor
         LIMIT $8
       ) superseded
     ), due AS (
       SELECT coalesce(array_agg(file_id), '{}') AS "dueFiles", coalesce(array_agg(due_at::text), '{}') AS "dueTimes"
       FROM (
         SELECT file_id, min(due_at) AS due_at FROM ranked WHERE is_superseded IS NOT TRUE AND due_at IS NOT NULL GROUP BY file_id
       ) d
     )
     SELECT * FROM page, due`,
  ),
};
