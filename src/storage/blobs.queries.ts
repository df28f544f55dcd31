import { statement } from '../platform/database/index.js';

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

  /**
   * No row when it has been committed after all, which its size tells for good. A sweeper may have taken a slow upload for dead, and
   * have forgotten it before its bytes were there: it is known again with this.
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
