import { statement } from '../platform/database/index.js';

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
   * To be run first in a transaction that reads histories: a plan that was made for a small workspace would walk a
   * large one row by row.
   */
  planAnew: statement(
    'retention.plan_anew',
    `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`,
  ),

  /**
   * Files above $2 that have more than one version: the next $3 of them, fewer when those up to there have $4 versions
   * already. `version` has counted all that a file ever had, so there are no more of them.
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
   * The bucket rule, as retention-rule.ts words it, over the files $2: what has a newer version in its bucket. $3, $4
   * and $5 are the borders; up to $8 versions after the one of file $6 with cursor $7. Not yet looked at: what is
   * current or pinned. One row of them all, with the last one's file and cursor; none when there are none.
   */
  superseded: statement(
    'retention.superseded',
    `SELECT array_agg(id ORDER BY place)::text AS "versionIds", count(*) AS versions,
            (array_agg(file_id ORDER BY place DESC))[1] AS "fileId", (array_agg(change_cursor ORDER BY place DESC))[1] AS cursor
     FROM (
       SELECT id, file_id, change_cursor, row_number() OVER (ORDER BY file_id, change_cursor) AS place
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
       WHERE change_cursor < CASE
           WHEN created_at >= $3::timestamptz THEN NULL
           WHEN created_at >= $4::timestamptz THEN newest_of_hour
           WHEN created_at >= $5::timestamptz THEN newest_of_day
           ELSE newest_of_week
         END
         AND (file_id, change_cursor) > ($6::uuid, $7::bigint)
       ORDER BY file_id, change_cursor
       LIMIT $8
     ) superseded
     HAVING count(*) > 0`,
  ),
};
