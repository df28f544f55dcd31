import { statement } from '../../platform/database/index.js';

export const backupStatements = {
  /** The current state of a blob of the snapshot ($1, $2): its location, and whether its workspace still exists. */
  whereabouts: statement(
    'backup.whereabouts',
    `SELECT b.location, b.bytes, b.state = 'live' AS "isLive", w.id IS NOT NULL AS "hasWorkspace"
     FROM (VALUES (1)) one
     LEFT JOIN {workspaces} w ON w.id = $1 AND w.deleted_at IS NULL
     LEFT JOIN {blobs} b ON b.workspace_id = $1 AND b.id = $2`,
  ),

  isAnybodyHere: statement(
    'backup.is_anybody_here',
    `SELECT 1 FROM users UNION ALL SELECT 1 FROM {workspaces} LIMIT 1`,
  ),

  mayCreateDatabase: statement(
    'trial.may_create',
    'SELECT rolname AS role, rolcreatedb OR rolsuper AS "mayCreate" FROM pg_roles WHERE rolname = current_user',
  ),
};

export const failoverStatements = {
  /**
   * Identifies one incarnation of this database: a promotion changes the timeline, a copy by pg_dump the id of the database, and
   * a move to another server the id of the system.
   */
  incarnation: statement(
    'failovers.incarnation',
    `SELECT s.system_identifier || '/' || d.oid || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS incarnation
     FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()`,
  ),

  last: statement(
    'failovers.last',
    `SELECT at, details ->> 'incarnation' AS incarnation FROM audit_events
     WHERE action = 'failover.handled' ORDER BY id DESC LIMIT 1`,
  ),

  count: statement('failovers.count', 'SELECT count(*)::int AS workspaces FROM {workspaces}'),
};

/** Live blobs that are stored outside the database, ordered by key. Dying blobs are not referenced any more. */
export const STORED_BLOBS = `
  SELECT workspace_id, id, location, size, sha256,
         EXISTS (SELECT 1 FROM assets a WHERE a.workspace_id = b.workspace_id AND a.blob_id = b.id)
  FROM blobs b WHERE location <> 'inline' AND state = 'live' ORDER BY workspace_id, id`;

/**
 * Gives the database the bucket with the id $1. The id in the bucket stays, so that after a restore with the wrong bucket, the
 * service that owns the bucket still works. Danger: the database must have no blobs, and stay so until the transaction commits.
 */
export const ADOPT_STORE = `
  INSERT INTO blob_stores (location, id) VALUES ('s3', $1) ON CONFLICT (location) DO UPDATE SET id = excluded.id`;

/** Advances all heads after a restore or a failover. Run it in a transaction that keeps out uploads. */
export const LEAVE_GAP = 'UPDATE workspaces SET head_cursor = head_cursor + $1::bigint';

/** Statements for the transaction that has filled the tables. */
export const AFTER_IMPORT = {
  placeBlobs: `UPDATE blobs SET location = $1 WHERE location <> 'inline'`,
  deleteWorkspace: `UPDATE workspaces SET deleted_at = coalesce(deleted_at, $2) WHERE id = $1`,
  /** Also releases the quota that the asset used: in steps, because accounts and assets may be on different servers. */
  deleteAsset: [
    `UPDATE storage_accounts SET used_bytes = used_bytes - coalesce(
       (SELECT size FROM assets WHERE workspace_id = $1 AND blob_id = $2), 0)
     WHERE user_id = (SELECT user_id FROM workspaces WHERE id = $1) AND $2::uuid IS NOT NULL`,
    'DELETE FROM assets WHERE workspace_id = $1 AND blob_id = $2',
    'DELETE FROM blobs WHERE workspace_id = $1 AND id = $2',
  ],
};
