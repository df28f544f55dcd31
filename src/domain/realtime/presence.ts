import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { CoalescingRunner } from '../../platform/async.js';
import { Database, isForeignKeyViolation, newId, statement } from '../../platform/database/index.js';

/** Event bus topic: devices of a workspace have connected or disconnected; the key is the workspace id. */
export const PRESENCE = 'presence';

/** A running instance. Its lease uses the database clock. */
@Entity('instances')
export class Instance {
  @PrimaryColumn('uuid')
  id: string;

  @Column('timestamptz')
  aliveUntil: Date;
}

/** A device that has a live socket on an instance. */
@Entity('presence')
export class PresentDevice {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('text')
  deviceId: string;

  @PrimaryColumn('uuid')
  instanceId: string;
}

/**
 * Leases use the database clock, the only one shared by all instances: an instance whose own clock is wrong must
 * neither outlive its lease nor lose it.
 */
const ALIVE = 'i.alive_until > statement_timestamp()';

export const realtimeStatements = {
  /** Runs every few seconds for all rooms of an instance: with 2,000 sockets, a repository takes 8 MiB more (measured). */
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

  /** The devices among $2 that have a live socket in the workspace, on any instance. */
  presentAmong: statement(
    'realtime.present_among',
    `SELECT DISTINCT p.device_id AS "deviceId" FROM presence p JOIN instances i ON i.id = p.instance_id
     WHERE p.workspace_id = $1 AND p.device_id = ANY ($2) AND ${ALIVE}`,
    { isOfWorkspace: false }, // presence is not on nodes
  ),
};

/**
 * Renewed every 5 s, so three renewals may fail. Other instances check every 3 s: the devices of a killed instance disappear
 * within 30 s.
 */
const LEASE_S = 20;

/** Tracks which devices have a live socket, across all instances. */
@Injectable()
export class Presence {
  /** Identifies this process for its lifetime. */
  private readonly instanceId = newId();

  /** Serializes writes: a renewal in progress must not restore a lease that has been ended. */
  private readonly lease = new CoalescingRunner(() => (this.hasEnded ? this.remove() : this.renew()));
  private hasEnded = false;
  private isForgotten = false;

  constructor(
    @InjectRepository(Instance) private readonly instances: Repository<Instance>,
    private readonly database: Database,
  ) {}

  /**
   * Returns whether the other instances have dropped this one since the last call, which means that its devices must be written
   * again.
   */
  takeForgotten(): boolean {
    const wasForgotten = this.isForgotten;
    this.isForgotten = false;
    return wasForgotten;
  }

  /** Marks this instance as alive until its lease is ended. */
  renewLease(): Promise<void> {
    return this.lease.run();
  }

  /** Removes this instance and its devices for good; operations in progress do not restore them. */
  endLease(): Promise<void> {
    this.hasEnded = true;
    return this.lease.run();
  }

  /** Replaces the workspace's devices on this instance. */
  async set(workspaceId: string, deviceIds: readonly string[]): Promise<void> {
    const values = [workspaceId, this.instanceId, deviceIds];
    try {
      await this.database.run(realtimeStatements.setPresence, values);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      await this.renewLease(); // the process was suspended for a long time, or is shutting down
      if (!this.hasEnded) await this.database.run(realtimeStatements.setPresence, values);
    }
  }

  /** The devices on other instances by workspace; a workspace without any is omitted. */
  async elsewhere(workspaceIds: readonly string[]): Promise<Map<string, string[]>> {
    const rows = await this.database.run<{ workspaceId: string; deviceIds: string[] }>(
      realtimeStatements.presenceElsewhere,
      [workspaceIds, this.instanceId],
    );
    return new Map(rows.map(({ workspaceId, deviceIds }) => [workspaceId, deviceIds]));
  }

  /** Returns the given devices that have a live socket in the workspace. */
  async presentAmong(workspaceId: string, deviceIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.run<{ deviceId: string }>(realtimeStatements.presentAmong, [
      workspaceId,
      deviceIds,
    ]);
    return new Set(rows.map(({ deviceId }) => deviceId));
  }

  private async renew(): Promise<void> {
    const [row] = await this.database.run<{ isNew: boolean }>(realtimeStatements.renewLease, [
      this.instanceId,
      LEASE_S,
    ]);
    if (row?.isNew) this.isForgotten = true;
    await this.database.run(realtimeStatements.removeDeadInstances, []);
  }

  private async remove(): Promise<void> {
    await this.instances.delete({ id: this.instanceId });
  }
}
