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

  /** No row when it is not staged any more: it has been committed after all, or a sweeper has condemned it. */
  condemn: statement(
    'blobs.condemn',
    `UPDATE blobs SET state = 'dying', not_before = $3, claimed_until = $4
     WHERE workspace_id = $1 AND id = $2 AND state = 'staged'
     RETURNING id`,
  ),

  /** Of what has no bytes in the store, for certain. */
  forget: statement(
    'blobs.forget',
    `DELETE FROM blobs WHERE workspace_id = $1 AND id = $2 AND state <> 'live'`,
  ),

  /** A row when the store has any blob of this database. */
  anyStored: statement(
    'blobs.any_stored',
    `SELECT FROM blobs WHERE location = $1 AND location <> 'inline'
     UNION ALL SELECT FROM blob_leftovers WHERE location = $1
     LIMIT 1`,
  ),
};
