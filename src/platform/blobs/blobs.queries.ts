import { statement } from '../database/index.js';

export const blobStatements = {
  storeId: statement('blobs.store_id', `SELECT id FROM blob_stores WHERE location = $1`),

  /** The first one stays. */
  registerStore: statement(
    'blobs.register_store',
    `INSERT INTO blob_stores (location, id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
  ),

  stage: statement(
    'blobs.stage',
    `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $2, 'staged', $3, $4)`,
  ),

  forgetStaged: statement(
    'blobs.forget_staged',
    `DELETE FROM blobs WHERE workspace_id = $1 AND id = $2 AND state = 'staged'`,
  ),

  condemnStaged: statement(
    'blobs.condemn_staged',
    `UPDATE blobs SET state = 'dying', not_before = $2 WHERE state = 'staged' AND created_at < $1`,
  ),

  dying: statement(
    'blobs.dying',
    `SELECT workspace_id AS "workspaceId", id, location FROM blobs b
     WHERE state = 'dying' AND not_before <= $1
       AND NOT EXISTS (SELECT FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
     ORDER BY not_before
     LIMIT $2`,
  ),

  /** Those whose removal has failed before come last. */
  ofDeletedWorkspace: statement(
    'blobs.of_deleted_workspace',
    `SELECT workspace_id AS "workspaceId", id, location FROM blobs
     WHERE workspace_id = $1 AND NOT (state = 'staged' AND created_at >= $2)
     ORDER BY not_before NULLS FIRST, id
     LIMIT $3`,
  ),

  /** A row when the workspace has any blob, uploads under way included. */
  anyOfWorkspace: statement('blobs.any_of_workspace', `SELECT id FROM blobs WHERE workspace_id = $1 LIMIT 1`),

  postpone: statement(
    'blobs.postpone',
    `UPDATE blobs SET not_before = $3 WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))`,
  ),

  removeRows: statement(
    'blobs.remove_rows',
    `DELETE FROM blobs WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))`,
  ),
};
