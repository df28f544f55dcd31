import { statement } from '../platform/database/index.js';

export const backupStatements = {
  /** The current state of a blob of the snapshot ($1, $2): its location, and whether its workspace still exists. */
  whereabouts: statement(
    'backup.whereabouts',
    `SELECT b.location, b.bytes, b.state = 'live' AS "isLive", w.id IS NOT NULL AS "hasWorkspace"
     FROM (VALUES (1)) one
     LEFT JOIN workspaces w ON w.id = $1 AND w.deleted_at IS NULL
     LEFT JOIN blobs b ON b.workspace_id = $1 AND b.id = $2`,
  ),

  isAnybodyHere: statement(
    'backup.is_anybody_here',
    `SELECT 1 FROM users UNION ALL SELECT 1 FROM workspaces LIMIT 1`,
  ),

  /** A running service; its lease uses the database clock. */
  runningInstance: statement(
    'backup.running_instance',
    `SELECT 1 FROM instances WHERE alive_until > statement_timestamp() LIMIT 1`,
  ),
};

/** Blobs stored outside the database, ordered by key. Dying blobs are not referenced any more. */
export const STORED_BLOBS = `
  SELECT workspace_id, id, location, size, sha256,
         EXISTS (SELECT 1 FROM assets a WHERE a.workspace_id = b.workspace_id AND a.blob_id = b.id)
  FROM blobs b WHERE location <> 'inline' AND state = 'live' ORDER BY workspace_id, id`;

/**
 * Gives the database the bucket with the id $1. The id in the bucket stays: where a restore was pointed at the wrong bucket, the
 * service whose bucket it is goes on. Danger: the database must have no blobs, and stay so until the transaction commits.
 */
export const ADOPT_STORE = `
  INSERT INTO blob_stores (location, id) VALUES ('s3', $1) ON CONFLICT (location) DO UPDATE SET id = excluded.id`;

export const DATABASE_ID = 'SELECT id FROM database_identity';

/** The first id stays. */
export const IDENTIFY_DATABASE = 'INSERT INTO database_identity (id) VALUES ($1) ON CONFLICT DO NOTHING';

/** Each runs in the transaction that has filled the tables. */
export const AFTER_IMPORT = {
  leaveGap: 'UPDATE workspaces SET head_cursor = head_cursor + $1::bigint',
  placeBlobs: `UPDATE blobs SET location = $1 WHERE location <> 'inline'`,
  deleteWorkspace: `UPDATE workspaces SET deleted_at = coalesce(deleted_at, $2) WHERE id = $1`,
  /** Also releases the quota that the asset used. */
  deleteAsset: `
    WITH asset AS (
      DELETE FROM assets WHERE workspace_id = $1 AND blob_id = $2 RETURNING workspace_id, blob_id, size
    ), blob AS (
      DELETE FROM blobs b USING asset a WHERE b.workspace_id = a.workspace_id AND b.id = a.blob_id
    )
    UPDATE storage_accounts s SET used_bytes = s.used_bytes - a.size
    FROM asset a JOIN workspaces w ON w.id = a.workspace_id WHERE s.user_id = w.user_id`,
  /** The same where the accounts are not on the node. */
  deleteAssetOnNode: [
    `UPDATE storage_accounts SET used_bytes = used_bytes - coalesce(
       (SELECT size FROM assets WHERE workspace_id = $1 AND blob_id = $2), 0)
     WHERE user_id = (SELECT user_id FROM workspaces WHERE id = $1) AND $2::uuid IS NOT NULL`,
    'DELETE FROM assets WHERE workspace_id = $1 AND blob_id = $2',
    'DELETE FROM blobs WHERE workspace_id = $1 AND id = $2',
  ],
};
