import { Injectable } from '@nestjs/common';
import { Database, isForeignKeyViolation, newId } from '../platform/database/index.js';
import { CoalescingRunner } from '../platform/async/index.js';
import { realtimeStatements } from './realtime.queries.js';

/** Renewed every 5 s, so three renewals may fail; the others look every 3 s: a killed instance's devices are gone within 30 s. */
const LEASE_S = 20;

/** Which devices have a live socket, across all instances. */
@Injectable()
export class Presence {
  /** This process, as long as it lives. */
  private readonly instanceId = newId();

  /** Written by one at a time: a renewal under way must not bring back a lease that has been ended. */
  private readonly lease = new CoalescingRunner(() => (this.hasEnded ? this.remove() : this.renew()));
  private hasEnded = false;
  private isForgotten = false;

  constructor(private readonly database: Database) {}

  /** Whether the others had given this instance up since this was asked last, so that its devices are to be written anew. */
  takeForgotten(): boolean {
    const wasForgotten = this.isForgotten;
    this.isForgotten = false;
    return wasForgotten;
  }

  /** Says that this instance is alive, until it has ended. */
  renewLease(): Promise<void> {
    return this.lease.run();
  }

  /** This instance and its devices are gone for all, and stay so: what is under way brings nothing back. */
  endLease(): Promise<void> {
    this.hasEnded = true;
    return this.lease.run();
  }

  /** Makes these the devices that the workspace has here. */
  async set(workspaceId: string, deviceIds: readonly string[]): Promise<void> {
    const values = [workspaceId, this.instanceId, deviceIds];
    try {
      await this.database.run(realtimeStatements.setPresence, values);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      await this.renewLease(); // this process has slept for long, or ends
      if (!this.hasEnded) await this.database.run(realtimeStatements.setPresence, values);
    }
  }

  /** Per workspace the devices that it has on other instances; a workspace without any is left out. */
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
    await this.database.run(realtimeStatements.endLease, [this.instanceId]);
  }
}
