import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Database, isForeignKeyViolation, newId } from '../../platform/database/index.js';
import { CoalescingRunner } from '../../platform/async/index.js';
import { Instance } from './presence.entity.js';
import { realtimeStatements } from './realtime.queries.js';

/**
 * Renewed every 5 s, so three renewals may fail. The others check every 3 s: the devices of a killed instance
 * disappear within 30 s.
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
   * Returns whether the other instances have dropped this one since the last call, which means that its devices must
   * be written again.
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

  /** Those of the devices that have a live socket in the workspace. */
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
