import { decryptLabel, encryptLabel } from '../../src/automation/vault-crypto.js';
import type { Manifest } from './api.js';
import { takeRemoteChanges } from './incoming.js';
import type { LiveRoom } from './live-room.js';
import { sendLocalChanges } from './outgoing.js';
import type { SyncReport } from './report.js';
import { applyRestore, type Restored } from './restore.js';
import { type Device, SyncRun } from './sync-run.js';

const ROUNDS = 5;

/** Keeps one folder and one workspace alike. README.md has the reason for each rule. */
export class SyncClient {
  constructor(private readonly device: Device) {}

  get name(): string {
    return this.device.name;
  }

  get root(): string {
    return this.device.folder.root;
  }

  /**
   * Fetches and sends until both sides agree. Safe to repeat after any failure, and not to be called twice at once.
   * @throws when it cannot be done; what was done until then is kept, and nothing is lost
   */
  async sync(): Promise<SyncReport> {
    const run = new SyncRun(this.device);
    for (let round = 1; round <= ROUNDS; round++) {
      // Perhaps it is not the others, but the memory that is wrong, as after a server was put back from a backup.
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

  /** Hears of what other devices do; `sync` after each news. */
  listen(): Promise<LiveRoom> {
    return this.device.api.listen(() => this.device.state.cursor ?? 0);
  }

  /** Marks what all devices can go back to. @returns its id */
  async checkpoint(label: string): Promise<string> {
    const { api, keys } = this.device;
    await this.sync();
    return api.createCheckpoint(encryptLabel(keys, label));
  }

  /** Labels by id, the newest first. */
  async checkpoints(): Promise<Map<string, string>> {
    const { api, keys } = this.device;
    const checkpoints = await api.checkpoints();
    return new Map(checkpoints.map(({ id, encryptedLabel }) => [id, decryptLabel(keys, encryptedLabel)]));
  }

  /** What a restore would do, for the user to look at. Syncs first: what the server does not have would not be in the history. */
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

  /** The history stays. */
  deleteCheckpoint(checkpointId: string): Promise<void> {
    return this.device.api.deleteCheckpoint(checkpointId);
  }
}
