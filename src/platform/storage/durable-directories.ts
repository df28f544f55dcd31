import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setNewest } from '../async.js';
import { makeDirectories, syncDirectory } from '../config/index.js';
import { StoreUnavailable } from './blob-store.js';
import { STORE_ID } from './registered-stores.js';

/** Forgetting a directory costs a sync; remembering all would grow with the number of workspaces. */
const REMEMBERED = 10_000;
const RETRY_SECONDS = 60;

/**
 * Creates directories that survive a power failure: a name is durable only once its parent directory has been synced. An existing
 * directory may come from another upload, another instance or a process that crashed before its sync, so each one is synced once
 * per process, regardless of which process created it, and all callers await that sync.
 */
export class DurableDirectories {
  private readonly synced = new Map<string, Promise<unknown>>();

  private constructor(
    private readonly root: string,
    private readonly opened: Stats,
  ) {}

  /**
   * Creates the root and its missing parents.
   * @param root absolute
   */
  static async under(root: string): Promise<DurableDirectories> {
    const first = (await makeDirectories(root, 0o700)) ?? root;
    const dataDir = dirname(root);
    await syncDirectory(root);
    await syncDirectory(dataDir);
    // DATA_DIR itself may be new, created by other code that stores things in it.
    const highest = dirname(first.length < dataDir.length ? first : dataDir);
    for (let above = dirname(dataDir); ; above = dirname(above)) {
      await syncForeign(above);
      if (above.length <= highest.length) break;
    }
    return new DurableDirectories(root, await stat(root));
  }

  /**
   * Danger: when the file system of the root is unmounted, an empty directory appears in its place. Missing files are not lost
   * then, and new files will be hidden when it is mounted again.
   * @throws StoreUnavailable unless the root is the directory that was opened, or a store
   */
  async expectRoot(): Promise<void> {
    const found = await stat(this.root).catch(() => undefined);
    if (found?.dev === this.opened.dev && found.ino === this.opened.ino) return;
    // After a remount, and on some network file systems at any time, device and inode numbers change.
    if (await stat(join(this.root, STORE_ID)).catch(() => undefined)) return;
    throw new StoreUnavailable(`${this.root} is not the directory that was opened`, RETRY_SECONDS);
  }

  /**
   * Durable when it resolves.
   * @param directory below the root
   * @throws StoreUnavailable
   */
  async make(directory: string): Promise<void> {
    await this.expectRoot();
    const first = await makeDirectories(directory, 0o700);
    if (first !== undefined) this.forget(directory, first);
    await this.syncAbove(directory);
  }

  /** Discards syncs from before the directory was deleted and created again. */
  private forget(directory: string, first: string): void {
    for (let made = directory; made.length >= first.length; made = dirname(made)) this.synced.delete(made);
  }

  private syncAbove(directory: string): Promise<unknown> {
    if (directory === this.root) return Promise.resolve();
    const known = this.synced.get(directory);
    if (known) return known;
    const parent = dirname(directory);
    const syncing = Promise.all([syncDirectory(parent), this.syncAbove(parent)]);
    this.remember(directory, syncing);
    return syncing;
  }

  private remember(directory: string, syncing: Promise<unknown>): void {
    setNewest(this.synced, directory, syncing, REMEMBERED);
    syncing.catch(() => {
      if (this.synced.get(directory) === syncing) this.synced.delete(directory);
    });
  }
}

/** A directory above DATA_DIR belongs to the operator: it may be searchable but not readable, or not support sync. */
async function syncForeign(path: string): Promise<void> {
  try {
    await syncDirectory(path);
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
