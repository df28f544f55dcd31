import { type VaultKeys, contentHash as sha256 } from '../../src/automation/vault-crypto.js';
import type { SyncApi } from './api.js';
import type { Folder } from './folder.js';
import { inParallel } from './parallel.js';
import { SyncReport } from './report.js';
import { type DeviceState, isUntouched, type KnownFile } from './state.js';
import type { LocalFile } from './walk.js';

const IN_FLIGHT = 8;
/** Two changes within this time may leave a file with the same time stamp. */
const CLOCK_TICK_MS = 100;

/** A folder, a workspace, and what keeps them alike. */
export interface Device {
  /** named in the files that it keeps in a conflict */
  readonly name: string;
  readonly folder: Folder;
  readonly state: DeviceState;
  readonly api: SyncApi;
  readonly keys: VaultKeys;
  readonly onProgress: (doing: string, done: number, total: number) => void;
}

/** One sync of one device: what both directions share. */
export class SyncRun {
  readonly report = new SyncReport();
  /** Paths that another device changed while this one was at work. They are taken up again in another round. */
  readonly overtaken = new Set<string>();

  /** Whether this round changed the server. Another one then moves the cursor past these changes. */
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

  /** Whether the local file is what was synced last. Reads it only when it was touched. */
  async isAsKnown(local: LocalFile, known: KnownFile): Promise<boolean> {
    if (local.size !== known.size) return false;
    if (isUntouched(local, known)) return true;
    return sha256(await this.device.folder.read(local.path)) === known.plainHash;
  }

  /** Notes that folder and server have the same content now. */
  remember(local: LocalFile, plainHash: string, remote: { contentHash: string; version: number }): void {
    const { contentHash, version } = remote;
    const { path, size, mtimeMs, ino, lookedAtMs } = local;
    // The time of a file that had just been changed when it was looked at proves nothing: what was written right after it
    // may have the same. Zero: compare the content next time.
    const ctimeMs = lookedAtMs - local.ctimeMs < CLOCK_TICK_MS ? 0 : local.ctimeMs;
    this.device.state.files.set(path, { plainHash, contentHash, version, size, mtimeMs, ctimeMs, ino });
  }

  /** One at a time: what looks at the folder first must not be overtaken before it has acted. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lastExclusive.then(work);
    this.lastExclusive = result.catch(() => undefined);
    return result;
  }

  /** Does the work for all items, several at once, showing progress and saving the state now and then. */
  async forEach<T>(doing: string, items: T[], work: (item: T) => Promise<void>): Promise<void> {
    let done = 0;
    await inParallel(items, IN_FLIGHT, async (item) => {
      await work(item);
      this.device.onProgress(doing, ++done, items.length);
      await this.device.state.saveNowAndThen();
    });
  }
}
