import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectories, syncDirectory } from '../config/index.js';
import { StoreUnavailable } from './blob-store.js';

/** Forgetting one costs a sync, remembering all would grow with the number of workspaces. */
const REMEMBERED = 10_000;
const RETRY_SECONDS = 60;

/** A file in the root that says whose it is. */
export const STORE_ID = 'store-id';

/**
 * Makes directories that survive a power cut: a name is on the disk only once the directory that holds it has been
 * synced. A directory that is found may come from another upload, another instance or a start that has crashed before
 * its sync, so each is synced once in the life of a process, whoever made it, and all who need it await that sync.
 */
export class DurableDirectories {
  private readonly synced = new Map<string, Promise<unknown>>();

  private constructor(
    private readonly root: string,
    private readonly opened: Stats,
  ) {}

  /** Makes the root and whatever is missing above it. @param root absolute */
  static async under(root: string): Promise<DurableDirectories> {
    const first = (await makeDirectories(root, 0o700)) ?? root;
    const dataDir = dirname(root);
    await syncDirectory(root);
    await syncDirectory(dataDir);
    // DATA_DIR too may be a moment old, made by what keeps other things in it.
    const highest = dirname(first.length < dataDir.length ? first : dataDir);
    for (let above = dirname(dataDir); ; above = dirname(above)) {
      await syncForeign(above);
      if (above.length <= highest.length) break;
    }
    return new DurableDirectories(root, await stat(root));
  }

  /**
   * Danger: when the file system of the root is unmounted, an empty directory comes to light in its place. What is not there
   * is not lost, and what is put there will be hidden when it is mounted again.
   * @throws StoreUnavailable unless the root is the directory that was opened, or a store
   */
  async expectRoot(): Promise<void> {
    const found = await stat(this.root).catch(() => undefined);
    if (found?.dev === this.opened.dev && found.ino === this.opened.ino) return;
    // Mounted again, and on some network file systems at any time, it has other numbers.
    if (await stat(join(this.root, STORE_ID)).catch(() => undefined)) return;
    throw new StoreUnavailable(`${this.root} is not the directory that was opened`, RETRY_SECONDS);
  }

  /** Durable when it resolves. @param directory below the root @throws StoreUnavailable */
  async make(directory: string): Promise<void> {
    await this.expectRoot();
    const first = await makeDirectories(directory, 0o700);
    if (first !== undefined) this.forget(directory, first);
    await this.syncAbove(directory);
  }

  /** What was synced in an earlier life of a directory says nothing of this one. */
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
    this.synced.set(directory, syncing);
    syncing.catch(() => {
      if (this.synced.get(directory) === syncing) this.synced.delete(directory);
    });
    const [oldest] = this.synced.keys();
    if (this.synced.size > REMEMBERED && oldest !== undefined) this.synced.delete(oldest);
  }
}

/** A directory above DATA_DIR is the operator's: it may be one to pass and not to open, or of a kind that has no sync. */
async function syncForeign(path: string): Promise<void> {
  try {
    await syncDirectory(path);
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
