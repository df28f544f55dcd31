import { type VaultKeys, contentHash as sha256 } from '../../src/automation/vault-crypto.js';
import type { SyncApi } from './api.js';
import type { Folder } from './folder.js';
import { inParallel } from './parallel.js';
import { SyncReport } from './report.js';
import { type DeviceState, isUntouched, type KnownFile } from './state.js';
import type { LocalFile } from './walk.js';

const IN_FLIGHT = 8;
/** Two changes within this time may leave the same timestamp. */
const CLOCK_TICK_MS = 100;

/** A folder, a workspace, and what is needed to sync them. */
export interface Device {
  /** appears in the names of conflict copies */
  readonly name: string;
  readonly folder: Folder;
  readonly state: DeviceState;
  readonly api: SyncApi;
  readonly keys: VaultKeys;
  readonly onProgress: (doing: string, done: number, total: number) => void;
}

/** One sync of one device: the state that both directions share. */
export class SyncRun {
  readonly report = new SyncReport();
  /** Paths that another device changed during this round; the next round processes them again. */
  readonly overtaken = new Set<string>();

  /** Whether this round changed the server. If so, another round moves the cursor past these changes. */
  hasSent = false;

  private lastExclusive: Promise<unknown> = Promise.resolve();

  constructor(readonly device: Device) {}

  get isSettled(): boolean {
    return this.overtaken.size === 0 && !this.hasSent;
  }

  beginRound(): void {
    this.overtaken.clear();
    this.hasSent = false;
  }

  /** Whether the local file is what was last synced. Reads it only when its metadata changed. */
  async isAsKnown(local: LocalFile, known: KnownFile): Promise<boolean> {
    if (local.size !== known.size) return false;
    if (isUntouched(local, known)) return true;
    return sha256(await this.device.folder.read(local.path)) === known.plainHash;
  }

  /** Records that folder and server now have the same content. */
  remember(local: LocalFile, plainHash: string, remote: { contentHash: string; version: number }): void {
    const { contentHash, version } = remote;
    const { path, size, mtimeMs, ino, lookedAtMs } = local;
    // If a file had just been changed when it was examined, its timestamp proves nothing: a later write may have the
    // same one. Zero means that the content is compared next time.
    const ctimeMs = lookedAtMs - local.ctimeMs < CLOCK_TICK_MS ? 0 : local.ctimeMs;
    this.device.state.files.set(path, { plainHash, contentHash, version, size, mtimeMs, ctimeMs, ino });
  }

  /** Runs one task at a time: nothing may change the folder between a task's check and its action. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lastExclusive.then(work);
    this.lastExclusive = result.catch(() => undefined);
    return result;
  }

  /** Runs the work for all items, several at once, showing progress and saving the state periodically. */
  async forEach<T>(doing: string, items: T[], work: (item: T) => Promise<void>): Promise<void> {
    let done = 0;
    await inParallel(items, IN_FLIGHT, async (item) => {
      await work(item);
      this.device.onProgress(doing, ++done, items.length);
      await this.device.state.saveNowAndThen();
    });
  }
}
