import { statement } from '../database/index.js';

export const jobStatements = {
  /** Also deletes all but the last runs of the job ($5) and the last one without an error. */
  end: statement(
    'job_runs.end',
    `WITH forgotten AS (
       DELETE FROM job_runs r
       USING job_runs ended
         CROSS JOIN LATERAL (
           SELECT id, coalesce((SELECT max(id) FROM job_runs WHERE name = ended.name AND ended_at IS NOT NULL AND error IS NULL), 0) AS good
           FROM job_runs WHERE name = ended.name ORDER BY id DESC OFFSET $5 LIMIT 1
         ) newest_forgotten
       WHERE ended.id = $1 AND r.name = ended.name AND r.id <= newest_forgotten.id AND r.id <> newest_forgotten.good
     )
     UPDATE job_runs SET ended_at = $2, counts = $3::json, error = $4 WHERE id = $1`,
  ),

  /** The last run of each job. */
  lastOfEach: statement(
    'job_runs.last',
    `SELECT DISTINCT ON (name) name, started_at AS "startedAt", ended_at AS "endedAt", error IS NULL AS "isGood"
   FROM job_runs ORDER BY name, id DESC`,
  ),
};

/** $1: the clock. Whether it is close to the time in the row `t`, or has been consistent for a day, however far ahead it is. */
const IS_TRUSTED = `(
  $1 <= t.trusted_until + interval '48 hours'
  OR coalesce($1 BETWEEN t.doubted_until AND t.doubted_until + interval '48 hours'
              AND $1 >= t.doubted_from + interval '24 hours', false))`;

export const timeStatements = {
  /** $2: whether the clock is consistent with an earlier, trusted reading in this process. */
  look: statement(
    'trusted_time.look',
    `INSERT INTO trusted_time AS t (trusted_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET
       trusted_until = CASE WHEN $2 OR ${IS_TRUSTED} THEN greatest(t.trusted_until, $1) ELSE t.trusted_until END,
       doubted_from = CASE WHEN $2 OR ${IS_TRUSTED} THEN NULL
                           WHEN $1 BETWEEN t.doubted_until AND t.doubted_until + interval '48 hours' THEN t.doubted_from
                           ELSE $1 END,
       doubted_until = CASE WHEN $2 OR ${IS_TRUSTED} THEN NULL ELSE $1 END
     RETURNING trusted_until AS "asOf"`,
  ),

  peek: statement(
    'trusted_time.peek',
    `SELECT CASE WHEN ${IS_TRUSTED} THEN greatest(t.trusted_until, $1) ELSE t.trusted_until END AS "asOf" FROM trusted_time t`,
  ),
};
