import { statement } from '../platform/database/index.js';

export const blobStatements = {
  storeId: statement('blobs.store_id', `SELECT id FROM blob_stores WHERE location = $1`),

  /** The first registered id stays. */
  registerStore: statement(
    'blobs.register_store',
    `INSERT INTO blob_stores (location, id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
  ),

  stage: statement(
    'blobs.stage',
    `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $2, 'staged', $3, $4)`,
  ),

  /**
   * Returns no row if the blob was committed after all, which its size proves. A sweeper may have taken a slow upload for dead
   * and deleted its row before the bytes were written; this statement inserts the row again.
   */
  markForDeletion: statement(
    'blobs.mark_for_deletion',
    `INSERT INTO blobs AS b (workspace_id, id, state, location, created_at, not_before, claimed_until)
     VALUES ($1, $2, 'dying', $5, $3, $3, $4)
     ON CONFLICT (workspace_id, id) DO UPDATE
       SET state = 'dying', not_before = excluded.not_before, claimed_until = excluded.claimed_until
       WHERE b.size IS NULL
     RETURNING id`,
  ),

  /** Only for blobs that certainly have no bytes in the store. */
  forget: statement(
    'blobs.forget',
    `DELETE FROM blobs WHERE workspace_id = $1 AND id = $2 AND state <> 'live'`,
  ),

  /** Returns a row if the store has any blob of this database. */
  anyStored: statement(
    'blobs.any_stored',
    `SELECT 1 FROM blobs WHERE location = $1 AND location <> 'inline'
     UNION ALL SELECT 1 FROM blob_leftovers WHERE location = $1
     LIMIT 1`,
  ),
};
