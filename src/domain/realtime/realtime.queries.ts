import { statement } from '../../platform/database/index.js';

/**
 * Leases use the database clock, the only one shared by all instances: an instance whose own clock is wrong must
 * neither outlive its lease nor lose it.
 */
const ALIVE = 'i.alive_until > statement_timestamp()';

export const realtimeStatements = {
  /** Every few seconds for all rooms of an instance: with 2,000 sockets, a repository takes 8 MiB more (measured). */
  heads: statement(
    'realtime.heads',
    `SELECT id, head_cursor AS "headCursor", assets_revision AS "assetsRevision"
     FROM {workspaces} WHERE id = ANY ($1) AND deleted_at IS NULL`,
  ),

  /** $2: seconds. Returns whether the instance was unknown, in which case none of its presence rows are left. */
  renewLease: statement(
    'realtime.renew_lease',
    `INSERT INTO instances (id, alive_until) VALUES ($1, statement_timestamp() + make_interval(secs => $2))
     ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until
     RETURNING xmax = 0 AS "isNew"`,
  ),

  /** Waits a minute after the lease ends: an instance that is merely late keeps its rows. */
  removeDeadInstances: statement(
    'realtime.remove_dead_instances',
    `DELETE FROM instances WHERE alive_until < statement_timestamp() - interval '1 minute'`,
  ),

  /** Replaces this instance's rows of a workspace with these devices. */
  setPresence: statement(
    'realtime.set_presence',
    `WITH gone AS (
       DELETE FROM presence WHERE workspace_id = $1 AND instance_id = $2 AND device_id <> ALL ($3::text[])
     )
     INSERT INTO presence (workspace_id, instance_id, device_id)
     SELECT w.id, $2, device_id FROM {workspaces} w, unnest($3::text[]) AS device_id WHERE w.id = $1
     ON CONFLICT DO NOTHING`,
  ),

  /** The devices of workspaces on other instances. */
  presenceElsewhere: statement(
    'realtime.presence_elsewhere',
    `SELECT p.workspace_id AS "workspaceId", array_agg(DISTINCT p.device_id) AS "deviceIds"
     FROM presence p JOIN instances i ON i.id = p.instance_id
     WHERE p.workspace_id = ANY ($1) AND p.instance_id <> $2 AND ${ALIVE}
     GROUP BY p.workspace_id`,
  ),

  /** Those of the devices that have a live socket in the workspace, on any instance. */
  presentAmong: statement(
    'realtime.present_among',
    `SELECT DISTINCT p.device_id AS "deviceId" FROM presence p JOIN instances i ON i.id = p.instance_id
     WHERE p.workspace_id = $1 AND p.device_id = ANY ($2) AND ${ALIVE}`,
    { isOfWorkspace: false }, // presence is not on nodes
  ),
};
