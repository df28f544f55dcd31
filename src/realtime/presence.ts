import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Database, isForeignKeyViolation } from '../platform/database/index.js';
import { realtimeStatements } from './realtime.queries.js';

/** Renewed every 5 s (see RealtimeUpkeep), so three renewals may fail; others look every 3 s: a killed instance's devices are gone within 30 s. */
const LEASE_S = 20;

/** Which devices have a live socket, across all instances. */
@Injectable()
export class Presence {
  /** This process, as long as it lives. */
  private readonly instanceId = uuidv7();

  constructor(private readonly database: Database) {}

  /** Says that this instance is alive. Returns whether the others had given it up, and with it its devices. */
  async renewLease(): Promise<boolean> {
    const [row] = await this.database.run<{ isNew: boolean }>(realtimeStatements.renewLease, [
      this.instanceId,
      LEASE_S,
    ]);
    await this.database.run(realtimeStatements.removeDeadInstances, []);
    return row?.isNew ?? true;
  }

  /** This instance and its devices are gone for all. */
  async endLease(): Promise<void> {
    await this.database.run(realtimeStatements.endLease, [this.instanceId]);
  }

  /** Makes these the devices that the workspace has here. */
  async set(workspaceId: string, deviceIds: readonly string[]): Promise<void> {
    const values = [workspaceId, this.instanceId, deviceIds];
    try {
      await this.database.run(realtimeStatements.setPresence, values);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      await this.renewLease(); // the first socket after the start, or after this process has slept for long
      await this.database.run(realtimeStatements.setPresence, values);
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
}
