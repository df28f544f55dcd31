import { type Statement, statement } from '../../platform/database/index.js';
import { KEPT_MS } from './retention-rule.js';

/** In hours, because a day may have 23 hours in some time zones. */
const after = (resolution: keyof typeof KEPT_MS): string =>
  `interval '${KEPT_MS[resolution] / (60 * 60_000)} hours'`;

export const retentionStatements = {
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
       FROM (SELECT id, version FROM {files} WHERE workspace_id = $1 AND id > $2 AND version > 1 ORDER BY id LIMIT $3) next
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
   * Also returns, regardless of the position, when other versions will be superseded: for each file, the first time at which a
   * version moves into a bucket that has a newer version. Without further uploads, nothing is superseded before that time.
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
           FROM {versions} WHERE workspace_id = $1 AND file_id = ANY ($2::uuid[])
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

/** Losing the commit in a power failure is harmless: the next run repeats what depends on it. */
const WITHOUT_WAITING = `set_config('synchronous_commit', 'off', true)`;

export const queueStatements = {
  /**
   * Returns the workspaces among the next $2 above $1 that need work as of $3 under the rule $4: the log has grown, a checkpoint
   * was deleted, the rule has changed, or a file is due. Returns a single row, which also has the last of these $2 workspaces.
   */
  dueWorkspaces: statement(
    'retention.due_workspaces',
    `SELECT (array_agg(id ORDER BY id DESC))[1] AS last, coalesce(array_agg(id ORDER BY id) FILTER (WHERE is_due), '{}') AS ids
     FROM (
       SELECT w.id, CASE
           WHEN m.cursor IS NULL THEN w.head_cursor > 0
           ELSE m.cursor <> w.head_cursor OR m.has_unpinned OR m.rule <> $4
             OR EXISTS (SELECT 1 FROM {retention_queue} q WHERE q.workspace_id = w.id AND q.due_at < $3)
         END AS is_due
       FROM (SELECT id, head_cursor FROM {workspaces} WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2) w
       LEFT JOIN {retention_marks} m ON m.workspace_id = w.id
     ) page`,
  ),

  /** The head of a workspace's log, and the cursor up to which it was read under the rule $2; 0 when it was not read. */
  progress: statement(
    'retention.progress_of_workspace',
    `SELECT w.head_cursor AS "headCursor", coalesce(m.cursor, 0) AS cursor, coalesce(m.has_unpinned, false) AS "hasUnpinned"
     FROM {workspaces} w LEFT JOIN {retention_marks} m ON m.workspace_id = w.id AND m.rule = $2
     WHERE w.id = $1 AND w.deleted_at IS NULL`,
  ),

  /** Queues up to $3 files above $2 that have more than one version. Returns the last one; null when there is none. */
  addAll: statement(
    'retention.queue_all',
    `WITH page AS MATERIALIZED (
       SELECT id FROM {files} WHERE workspace_id = $1 AND id > $2 AND version > 1 ORDER BY id LIMIT $3
     ), added AS (
       INSERT INTO {retention_queue} AS q (workspace_id, file_id, due_at)
       SELECT $1, id, '-infinity' FROM page ORDER BY id
       ON CONFLICT (workspace_id, file_id) DO UPDATE SET due_at = excluded.due_at, revision = q.revision + 1
     )
     SELECT max(id::text) AS last, count(*) = $3 AS "hasMore", ${WITHOUT_WAITING} FROM page`,
  ),

  /** Notes that the log was read up to $2 under the rule $3, after `addAll`. */
  markAll: statement(
    'retention.mark_all',
    `WITH marked AS (
       INSERT INTO {retention_marks} AS m (workspace_id, cursor, rule) SELECT id, $2, $3 FROM {workspaces} WHERE id = $1
       ON CONFLICT (workspace_id) DO UPDATE SET cursor = excluded.cursor, rule = excluded.rule
     )
     SELECT ${WITHOUT_WAITING}`,
  ),

  /**
   * Reads up to $3 changes above $2, queues the files that have a new version, and notes how far the log was read unless another
   * run has done so meanwhile. Head and changes come from one snapshot, in which no change below the head is missing.
   */
  addChanged: statement(
    'retention.queue_changed',
    `WITH page AS MATERIALIZED (
       SELECT cursor, file_id, action FROM {changes} WHERE workspace_id = $1 AND cursor > $2 ORDER BY cursor LIMIT $3
     ), added AS (
       INSERT INTO {retention_queue} AS q (workspace_id, file_id, due_at)
       SELECT $1, file_id, '-infinity' FROM (SELECT DISTINCT file_id FROM page WHERE action = 'upsert') changed
       WHERE (SELECT version FROM {files} WHERE workspace_id = $1 AND id = file_id) > 1
       ORDER BY file_id
       ON CONFLICT (workspace_id, file_id) DO UPDATE SET due_at = excluded.due_at, revision = q.revision + 1
     ), read AS (
       SELECT CASE WHEN count(*) < $3 THEN (SELECT head_cursor FROM {workspaces} WHERE id = $1) ELSE max(cursor) END AS cursor
       FROM page
     ), marked AS (
       UPDATE {retention_marks} m SET cursor = read.cursor FROM read WHERE workspace_id = $1 AND m.cursor = $2
     )
     SELECT cursor AS last, (SELECT count(*) FROM page) = $3 AS "hasMore", ${WITHOUT_WAITING} FROM read`,
  ),

  /**
   * After checkpoints were deleted: queues the files that have pinned versions. Files that are due before $2 get a new revision
   * too, because another run may have read them and found their versions pinned.
   */
  addUnpinned: statement(
    'retention.queue_unpinned',
    `WITH noted AS (
       UPDATE {retention_marks} SET has_unpinned = false WHERE workspace_id = $1 AND has_unpinned RETURNING workspace_id
     ), added AS (
       UPDATE {retention_queue} SET due_at = '-infinity', revision = revision + 1
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
         SELECT file_id, revision, due_at FROM {retention_queue}
         WHERE workspace_id = $1 AND due_at < $2 AND (due_at, file_id) > ($3::timestamptz, $4::uuid)
         ORDER BY due_at, file_id LIMIT $5
       ) q
       CROSS JOIN LATERAL (SELECT version FROM {files} WHERE workspace_id = $1 AND id = q.file_id LIMIT 1) f
     ) due
     WHERE versions_before < $6
     ORDER BY due_at, "fileId"`,
  ),

  /** The files of the versions $2 that still exist. */
  filesOf: statement(
    'retention.files_of_versions',
    `SELECT DISTINCT v.file_id AS "fileId" FROM unnest($2::uuid[]) AS asked (id)
     CROSS JOIN LATERAL (
       SELECT file_id FROM {versions} WHERE workspace_id = $1 AND id BETWEEN asked.id AND asked.id ORDER BY id LIMIT 1
     ) v`,
  ),

  /**
   * Records when files ($2, as read at the revisions $3) are due next ($4; null: never) and which have pinned versions ($5),
   * which are examined again at $6 at the latest. Skips files that became due meanwhile.
   */
  settle: statement(
    'retention.settle',
    `WITH next AS MATERIALIZED (
       SELECT n.file_id, n.revision, n.is_pinned, CASE WHEN n.is_pinned THEN least(n.due_at, $6) ELSE n.due_at END AS due_at
       FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[], $5::boolean[]) AS n (file_id, revision, due_at, is_pinned)
     ), kept AS (
       UPDATE {retention_queue} q SET due_at = next.due_at, is_pinned = next.is_pinned
       FROM next WHERE q.workspace_id = $1 AND q.file_id = next.file_id AND q.revision = next.revision AND next.due_at IS NOT NULL
     ), removed AS (
       DELETE FROM {retention_queue} q USING next
       WHERE q.workspace_id = $1 AND q.file_id = next.file_id AND q.revision = next.revision AND next.due_at IS NULL
     )
     SELECT ${WITHOUT_WAITING}`,
  ),
};

/** Deletes up to $1 expired rows. Checks expiry again on deletion: a row that was used and extended meanwhile must stay. */
const expired = (name: string, table: string, key: string, hasExpired: string): Statement =>
  statement(
    `expired.${name}`,
    `DELETE FROM ${table}
     WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${hasExpired} LIMIT $1) AND ${hasExpired}
     RETURNING 1`,
  );

export const expiredRowStatements = {
  oneTimeTokens: expired('one_time_tokens', 'auth_verifications', 'id', 'expires_at <= $2'),
  sessions: expired('sessions', 'auth_sessions', 'id', 'expires_at <= $2'),
  /** Every JWT of these sessions has expired. */
  endedSessions: expired('ended_sessions', 'ended_sessions', 'session_id', 'ended_at < $2'),
  /** A link is kept as long as its mail may be sent again. */
  mailLinks: expired('mail_links', 'mail_links', 'token_hash', 'expires_at < $2'),
  hits: expired('hits', 'rate_limits', 'key', 'window_start < $2'),
  wrongPasswords: expired('wrong_passwords', 'wrong_passwords', 'key', 'last_at < $2'),
  knownNetworks: expired('known_networks', 'known_networks', 'user_id, network', 'last_seen_at < $2'),
  auditEvents: expired('audit_events', 'audit_events', 'id', 'at < $2'),
  invitations: expired('invitations', 'invitations', 'email', 'expires_at <= $2'),
  /** Leases use the database clock. Removing an instance removes its presence rows too. */
  instances: expired(
    'instances',
    'instances',
    'id',
    `alive_until < statement_timestamp() - interval '1 minute'`,
  ),
};
