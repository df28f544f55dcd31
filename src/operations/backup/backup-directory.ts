import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { removeTree, syncDirectory } from '../../platform/config/index.js';
import { PARTIAL, parsed, SCHEDULED, stampOf, surplusOf, UNVERIFIED } from './backup-names.js';
import {
  type BackupState,
  BackupTarget,
  type Draft,
  type ListedBackup,
  type Names,
  NO_NAMES,
  oldestFirst,
} from './backup-target.js';
import { DirectoryMark, unusableDirectory } from './directory-mark.js';
import { DirectoryParts } from './directory-parts.js';
import { MANIFEST, readManifest } from './manifest.js';

/**
 * BACKUP_DIR. The prefix of a name is its state: `partial-` while it is made, verified or removed, so that nothing under
 * another name is ever incomplete; `scheduled-` when it is verified; `unverified-` when that has failed. Other names belong to
 * the operator. Whoever changes it must hold the lock of the backups.
 */
export class BackupDirectory extends BackupTarget {
  readonly path: string;
  readonly mark: DirectoryMark;

  constructor(path: string) {
    super();
    this.path = resolve(path);
    this.mark = new DirectoryMark(this.path);
  }

  async begin(now: Date): Promise<Draft> {
    try {
      if (!(await stat(this.path)).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
      await this.removeAll(PARTIAL);
      const stamp = stampOf(now);
      const scratch = join(this.path, `${PARTIAL}trial-${stamp}`);
      await mkdir(scratch, { mode: 0o700 });
      return { stamp, draft: join(this.path, PARTIAL + stamp), scratch };
    } catch (error) {
      throw unusableDirectory(this.path, error);
    }
  }

  async publish(draft: string, stamp: string, spared = NO_NAMES): Promise<void> {
    await rename(draft, join(this.path, SCHEDULED + stamp));
    await syncDirectory(this.path);
    await this.removeAll(UNVERIFIED, spared);
  }

  async setAside(draft: string, stamp: string, spared = NO_NAMES): Promise<string> {
    const name = UNVERIFIED + stamp;
    await rename(draft, join(this.path, name));
    await syncDirectory(this.path);
    await this.removeAll(UNVERIFIED, new Set([...spared, name]));
    return name;
  }

  async prune(keep: number, newest: string, spared = NO_NAMES): Promise<number> {
    const own = (await this.named(SCHEDULED)).filter((name) => !spared.has(name));
    const surplus = surplusOf(own, keep, newest);
    for (const name of surplus) await this.remove(name);
    return surplus.length;
  }

  async list(): Promise<ListedBackup[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch((error: unknown) => {
      throw unusableDirectory(this.path, error);
    });
    const all: ListedBackup[] = [];
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      if (name.startsWith(`${PARTIAL}trial-`)) continue;
      const manifest = await readManifest(new DirectoryParts(join(this.path, name))).catch(() => undefined);
      const state = stateOf(name, manifest !== undefined);
      if (state) all.push({ name, state, ...(manifest && { manifest }) });
    }
    return oldestFirst(all);
  }

  close(): void {
    // no file is held open
  }

  async discard(path: string): Promise<void> {
    await rm(join(path, MANIFEST), { force: true }); // first: what is left is not a backup
    await removeTree(path);
  }

  private async removeAll(prefix: string, except: Names = NO_NAMES): Promise<void> {
    for (const name of await this.named(prefix)) if (!except.has(name)) await this.remove(name);
  }

  private async named(prefix: string): Promise<string[]> {
    const entries = await readdir(this.path, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory()) // a link leads to a backup that the operator has moved
      .map(({ name }) => name)
      .filter((name) => parsed(name)?.prefix === prefix);
  }

  /**
   * Under its own name, a backup is there as a whole or not at all. A draft gets another name too: its run may still be alive,
   * without the lock, and must not publish it when half of it is removed.
   */
  private async remove(name: string): Promise<void> {
    const path = join(this.path, name);
    const doomed = join(this.path, doomedName(name));
    if (doomed !== path) await rename(path, doomed);
    await syncDirectory(this.path);
    await this.discard(doomed);
  }
}

/** `partial-scheduled-TIME`, and `partial-removed-TIME` for a draft. */
function doomedName(name: string): string {
  if (!name.startsWith(PARTIAL)) return PARTIAL + name;
  return name.replace(/^partial-(?=\d)/, `${PARTIAL}removed-`);
}

function stateOf(name: string, isComplete: boolean): BackupState | undefined {
  const prefix = parsed(name)?.prefix;
  if (prefix === PARTIAL) return 'partial';
  if (prefix === undefined) return isComplete ? 'by hand' : undefined; // or something else
  if (!isComplete) return 'damaged';
  return prefix === SCHEDULED ? 'verified' : 'unverified';
}
