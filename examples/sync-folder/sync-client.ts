import { decryptLabel, encryptLabel } from '../../src/automation/vault-crypto.js';
import type { Manifest } from './api.js';
import { takeRemoteChanges } from './incoming.js';
import type { LiveRoom } from './live-room.js';
import { sendLocalChanges } from './outgoing.js';
import type { SyncReport } from './report.js';
import { applyRestore, type Restored } from './restore.js';
import { type Device, SyncRun } from './sync-run.js';

const ROUNDS = 5;

/** Keeps one folder and one workspace in sync. README.md explains each rule. */
export class SyncClient {
  constructor(private readonly device: Device) {}

  get name(): string {
    return this.device.name;
  }

  get root(): string {
    return this.device.folder.root;
  }

  /**
   * Downloads and uploads until both sides agree. Safe to repeat after any failure; do not call it concurrently.
   * @throws when the sync cannot complete; what was done so far is kept, and nothing is lost
   */
  async sync(): Promise<SyncReport> {
    const run = new SyncRun(this.device);
    for (let round = 1; round <= ROUNDS; round++) {
      // The cause may be a wrong local state instead of other devices, for example after a server was restored from a
      // backup.
      if (round === ROUNDS && run.overtaken.size > 0) this.device.state.forget();
      run.beginRound();
      try {
        await takeRemoteChanges(run);
        await sendLocalChanges(run);
      } finally {
        await this.device.state.save();
      }
      if (run.isSettled) break;
    }
    if (run.overtaken.size === 0) return run.report.finish();
    throw new Error(
      `${this.name}: other devices keep changing ${[...run.overtaken].join(', ')}; sync again later`,
    );
  }

  /** Listens for changes by other devices; call `sync` after each notification. */
  listen(): Promise<LiveRoom> {
    return this.device.api.listen(() => this.device.state.cursor ?? 0);
  }

  /** Creates a checkpoint that every device can restore. @returns its id */
  async checkpoint(label: string): Promise<string> {
    const { api, keys } = this.device;
    await this.sync();
    return api.createCheckpoint(encryptLabel(keys, label));
  }

  /** Labels by id, newest first. */
  async checkpoints(): Promise<Map<string, string>> {
    const { api, keys } = this.device;
    const checkpoints = await api.checkpoints();
    return new Map(checkpoints.map(({ id, encryptedLabel }) => [id, decryptLabel(keys, encryptedLabel)]));
  }

  /** What a restore would do, for the user to review. Syncs first: unsynced changes would be missing from the history. */
  async planRestore(checkpointId: string): Promise<Manifest> {
    await this.sync();
    return this.device.api.restoreManifest(checkpointId);
  }

  async restore(checkpointId: string, plan: Manifest): Promise<Restored> {
    try {
      return await applyRestore(new SyncRun(this.device), checkpointId, plan);
    } finally {
      await this.device.state.save();
    }
  }

  /** Keeps the history. */
  deleteCheckpoint(checkpointId: string): Promise<void> {
    return this.device.api.deleteCheckpoint(checkpointId);
  }
}
