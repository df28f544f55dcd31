import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type NamedCheckpoint,
  type PastState,
  VaultHistory,
  Workspace,
} from '../../client/src/core/index.js';
import {
  deviceId,
  FolderSync,
  Lock,
  NodeDisk,
  NodeStateFile,
  pastFilesOf,
  type Progress,
  type Report,
  RestoreRecord,
  type Restored,
  systemClock,
  systemRandom,
  VaultCipher,
  WorkspaceRemote,
} from '../../client/src/folder/index.js';
import type { OpenVault } from './account.js';
import { Ear } from './ear.js';

const MAX_FILE_BYTES = 100 * 1024 * 1024;

export interface DeviceOptions {
  readonly name: string;
  /** The directory that contains the folder, named like the device, and its state. */
  readonly home: string;
  readonly vault: OpenVault;
  readonly onProgress?: (progress: Progress) => void;
}

/** A folder that syncs with a vault, and the actions of its user. */
export class Device {
  private constructor(
    readonly name: string,
    readonly root: string,
    private readonly state: string,
    private readonly vault: OpenVault,
    private readonly folder: FolderSync,
    private readonly release: () => Promise<void>,
  ) {}

  /** @throws AlreadyRunning when another process uses the folder */
  static async open({ name, home, vault, onProgress }: DeviceOptions): Promise<Device> {
    const [root, state] = [join(home, name), join(home, `${name}.sync`)];
    await mkdir(root, { recursive: true });
    const lock = await Lock.take(join(state, 'lock'));
    const stateFile = new NodeStateFile(join(state, 'journal'));
    const { session, workspaceId: workspace, keys } = vault;
    const remote = new WorkspaceRemote(session, workspace, name, () => folder.stamp);
    const folder: FolderSync = await FolderSync.open({
      parts: {
        ...{ disk: new NodeDisk(root), remote, cipher: new VaultCipher(keys) },
        ...{ clock: systemClock, random: systemRandom },
      },
      stateFile,
      workspace,
      // The folders belong to the demo: many deletions at once are intended.
      options: {
        device: name,
        maxFileBytes: MAX_FILE_BYTES,
        confirm: () => Promise.resolve(true),
        onProgress,
      },
    });
    return new Device(name, root, state, vault, folder, async () => {
      await stateFile.close();
      await lock.release();
    });
  }

  /** @throws when the sync could not finish; what was done so far stays */
  async sync(): Promise<Report> {
    const report = await this.folder.sync();
    if (report.stopped !== undefined)
      throw new Error(`${this.name}: ${report.stopped}`, { cause: report.cause });
    return report;
  }

  /** Listens for changes by other devices; call `sync` after each. */
  listen(): Promise<Ear> {
    const { session, workspaceId } = this.vault;
    const cursor = (): number => this.folder.cursor;
    return Ear.open({ session, workspaceId, deviceId: this.deviceId, cursor });
  }

  /** Creates a checkpoint that every device can restore. */
  async checkpoint(label: string): Promise<NamedCheckpoint> {
    await this.sync(); // only uploaded content is part of the checkpoint
    return this.history.createCheckpoint(label);
  }

  /** Newest first. */
  checkpoints(): Promise<NamedCheckpoint[]> {
    return this.history.checkpoints();
  }

  /** The difference between a checkpoint and the service's current state. */
  async stateAt(checkpointId: string): Promise<PastState> {
    await this.sync();
    return this.history.stateAtCheckpoint(checkpointId);
  }

  /** Restores folder and service; replaced and deleted files stay in the history. */
  async restore(checkpointId: string): Promise<Restored> {
    const { files } = await this.stateAt(checkpointId); // fetched right before it is applied
    const file = new NodeStateFile(join(this.state, 'restore'));
    try {
      const record = await RestoreRecord.open(file, checkpointId);
      const past = pastFilesOf(files, this.history, MAX_FILE_BYTES);
      const { restored } = await this.folder.restore(past, record);
      await this.sync();
      await record.close();
      return restored;
    } finally {
      await file.close();
    }
  }

  /** Deletes only the checkpoint; the history stays. */
  deleteCheckpoint(checkpointId: string): Promise<void> {
    return this.workspace.history.deleteCheckpoint(checkpointId);
  }

  close(): Promise<void> {
    return this.release();
  }

  /** The workspace as this device sees it, still encrypted. */
  get workspace(): Workspace {
    return new Workspace(this.vault.session, this.vault.workspaceId, this.deviceId);
  }

  private get history(): VaultHistory {
    return new VaultHistory(this.workspace, this.vault.keys);
  }

  private get deviceId(): string {
    return deviceId(this.name, this.folder.stamp);
  }
}
