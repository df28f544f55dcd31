import { ofWorkspace, statement } from '../../platform/database/index.js';

export const assetStatements = {
  /**
   * Up to $4 assets after the one at $2 and $3, newest first. One row without a token when there are none; no row
   * when the workspace does not exist.
   */
  page: ofWorkspace(
    'assets.page',
    `SELECT page.* FROM {workspaces} w
     LEFT JOIN LATERAL (
       SELECT token, size, uploaded_at AS "uploadedAt", revision
       FROM {assets} WHERE workspace_id = $1 AND (uploaded_at, revision) < ($2::timestamptz, $3::bigint)
       ORDER BY uploaded_at DESC, revision DESC
       LIMIT $4
     ) page ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY page."uploadedAt" DESC, page.revision DESC`,
  ),

  /** An asset, with the location of its bytes. */
  envelope: ofWorkspace(
    'assets.envelope',
    `SELECT a.size, b.workspace_id AS "workspaceId", b.id, b.location, b.bytes
     FROM {assets} a JOIN {blobs} b ON b.workspace_id = a.workspace_id AND b.id = a.blob_id
     WHERE a.workspace_id = $1 AND a.token = $2`,
  ),

  /** What blocks an upload: the token that the key was used for after $4, and an existing asset with this token. */
  uploadState: statement(
    'assets.upload_state',
    `SELECT (SELECT token FROM {asset_idempotency_keys}
             WHERE workspace_id = $1 AND key = $3::text AND created_at > $4) AS "tokenOfKey",
            EXISTS (SELECT 1 FROM {assets} WHERE workspace_id = $1 AND token = $2) AS "isTaken"`,
  ),

  /**
   * Creates blob, asset, key and revision. The bytes are in $7, or in the blob store under a row that was staged
   * before. Returns no row when the sweeper has removed that staged row.
   */
  create: statement(
    'assets.create',
    `WITH stored AS (
       UPDATE {blobs} SET state = 'live', size = $5, sha256 = $6
       WHERE workspace_id = $1 AND id = $4 AND state = 'staged'
       RETURNING id
     ), inline AS (
       INSERT INTO {blobs} (workspace_id, id, state, location, size, sha256, bytes, created_at)
       SELECT $1::uuid, $4::uuid, 'live', 'inline', $5::bigint, $6::text, $7::bytea, $8::timestamptz WHERE $7::bytea IS NOT NULL
       RETURNING id
     ), blob AS (
       SELECT id FROM stored UNION ALL SELECT id FROM inline
     ), revised AS (
       UPDATE {workspaces} w SET assets_revision = w.assets_revision + 1 FROM blob WHERE w.id = $1
       RETURNING w.assets_revision AS revision
     ), remembered AS (
       INSERT INTO {asset_idempotency_keys} (workspace_id, key, token, created_at)
       SELECT $1::uuid, $3::text, $2::text, $8::timestamptz FROM blob WHERE $3::text IS NOT NULL
       ON CONFLICT (workspace_id, key) DO UPDATE SET token = excluded.token, created_at = excluded.created_at
     )
     INSERT INTO {assets} (workspace_id, token, blob_id, size, revision, uploaded_at)
     SELECT $1::uuid, $2::text, blob.id, $5::bigint, revised.revision, $8::timestamptz FROM blob, revised
     RETURNING token`,
  ),

  /** The step of `create` that counts the revision, where `create` is done in steps. */
  reviseOnNode: statement(
    'assets.revise_on_node',
    'UPDATE {workspaces} SET assets_revision = assets_revision + 1 WHERE id = $1 RETURNING assets_revision AS revision',
  ),

  /** The tokens among $2 that exist. */
  present: ofWorkspace(
    'assets.present',
    `SELECT token FROM {assets} WHERE workspace_id = $1 AND token = ANY ($2::text[])`,
  ),

  /** Changes only the name of the asset. */
  rename: statement(
    'assets.rename',
    `WITH revised AS (
       UPDATE {workspaces} SET assets_revision = assets_revision + 1 WHERE id = $1
     )
     UPDATE {assets} SET token = $3 WHERE workspace_id = $1 AND token = $2`,
  ),

  /**
   * Removes the existing assets among the tokens and marks their blobs for deletion at $3. The quota of their owner has to be
   * released in the same transaction.
   */
  remove: statement(
    'assets.remove',
    `WITH gone AS (
       DELETE FROM {assets} WHERE workspace_id = $1 AND token = ANY ($2::text[]) RETURNING token, blob_id, size
     ), revised AS (
       UPDATE {workspaces} SET assets_revision = assets_revision + 1 WHERE id = $1 AND EXISTS (SELECT 1 FROM gone)
     ), marked AS (
       UPDATE {blobs} b SET state = 'dying', not_before = $3 FROM gone WHERE b.workspace_id = $1 AND b.id = gone.blob_id
     )
     SELECT gone.token, gone.size, b.location FROM gone JOIN {blobs} b ON b.workspace_id = $1 AND b.id = gone.blob_id`,
  ),

  /** Checks the age a second time: a key that is reused meanwhile must stay. */
  forgetKeys: statement(
    'assets.forget_keys',
    `DELETE FROM {asset_idempotency_keys}
     WHERE created_at <= $1
       AND (workspace_id, key) IN (SELECT workspace_id, key FROM {asset_idempotency_keys} WHERE created_at <= $1 LIMIT $2)
     RETURNING key`,
  ),
};

export const quotaStatements = {
  /** $3: the allowance of the plan. Returns no row when the bytes do not fit. */
  reserve: statement(
    'storage.reserve',
    `UPDATE storage_accounts SET used_bytes = used_bytes + $2
     WHERE user_id = $1 AND NOT locked AND used_bytes + $2 <= addon_bytes + $3
     RETURNING used_bytes`,
  ),

  /** One statement, so both sums come from the same snapshot. */
  drift: statement(
    'storage.drift',
    `SELECT user_id AS "userId", coalesce(used_bytes, 0) AS "usedBytes", coalesce(bytes, 0)::bigint AS "actualBytes"
     FROM storage_accounts
     FULL JOIN (SELECT w.user_id, sum(a.size) AS bytes
                FROM {assets} a JOIN {workspaces} w ON w.id = a.workspace_id GROUP BY 1) owned USING (user_id)
     WHERE coalesce(used_bytes, 0) <> coalesce(bytes, 0)
     ORDER BY 1`,
  ),

  /** Run it under the account's lock, as a separate statement, so that its sum includes everything committed by then. */
  recount: statement(
    'storage.recount',
    `UPDATE storage_accounts
     SET used_bytes = (SELECT coalesce(sum(a.size), 0)
                       FROM {workspaces} w JOIN {assets} a ON a.workspace_id = w.id WHERE w.user_id = $1)
     WHERE user_id = $1`,
  ),
};
