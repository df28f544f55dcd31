import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError, removeTree, syncDirectory } from '../config/index.js';
import { type Manifest, MANIFEST, readManifest } from './manifest.js';

export type BackupState = 'verified' | 'unverified' | 'partial' | 'damaged' | 'by hand';

export interface ListedBackup {
  readonly name: string;
  readonly state: BackupState;
  /** Absent where the manifest is missing or cannot be read. */
  readonly manifest?: Manifest;
}

const VERIFIED = 'scheduled-';
const UNVERIFIED = 'unverified-';
const PARTIAL = 'partial-';

const NAME =
  /^(?<prefix>scheduled-|unverified-|partial-)(?:[a-z]+-)?(?<day>\d{4}-\d\d-\d\dT)(?<time>\d{6}\.\d{3}Z)$/;

const stampOf = (time: Date): string => time.toISOString().replaceAll(':', '');

/** The prefix and the time of a name; undefined for a name of the operator's, which is left alone. */
function parsed(name: string): { prefix: string; time: number } | undefined {
  const { prefix = '', day = '', time = '' } = NAME.exec(name)?.groups ?? {};
  if (!prefix) return undefined;
  return { prefix, time: Date.parse(day + time.replace(/^(\d\d)(\d\d)/, '$1:$2:')) };
}

/**
 * BACKUP_DIR. The prefix of a name is its state: `partial-` while it is made, verified or removed, so that nothing under
 * another name is ever incomplete; `scheduled-` when it is verified; `unverified-` when that has failed. Other names belong to
 * the operator. Whoever changes it must hold the lock of the backups.
 */
export class BackupDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /**
   * Removes what dead runs have left, and reserves names for a new backup and for its trial.
   * @throws OperatorError when the directory does not exist or cannot be written
   */
  async begin(now: Date): Promise<{ stamp: string; draft: string; scratch: string }> {
    try {
      if (!(await stat(this.path)).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
      await this.removeAll(PARTIAL);
      const stamp = stampOf(now);
      const scratch = join(this.path, `${PARTIAL}trial-${stamp}`);
      await mkdir(scratch, { mode: 0o700 });
      return { stamp, draft: join(this.path, PARTIAL + stamp), scratch };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      const sentence = `BACKUP_DIR ${this.path} cannot be used (${code}); it must be a directory that the service can write.`;
      throw new OperatorError(sentence, { cause: error });
    }
  }

  /** Gives a verified backup its name; what failed before it is no longer needed. */
  async publish(draft: string, stamp: string): Promise<void> {
    await rename(draft, join(this.path, VERIFIED + stamp));
    await syncDirectory(this.path);
    await this.removeAll(UNVERIFIED);
  }

  /** Keeps a complete backup whose verification has failed, in place of the last such one. */
  async setAside(draft: string, stamp: string): Promise<string> {
    const name = UNVERIFIED + stamp;
    await rename(draft, join(this.path, name));
    await syncDirectory(this.path);
    await this.removeAll(UNVERIFIED, name);
    return name;
  }

  /**
   * Removes all but `keep` scheduled backups. `newest` stays in any case: names may be of a wrong clock, so those that are
   * later than it count as older than all others, and among themselves by their times.
   */
  async prune(keep: number, newest: string): Promise<number> {
    const timeOf = (name: string): number => parsed(name)?.time ?? 0;
    const newestTime = timeOf(VERIFIED + newest);
    const isLater = (name: string): number => Number(timeOf(name) > newestTime);
    const names = await this.named(VERIFIED);
    const surplus = names.sort((a, b) => isLater(a) - isLater(b) || timeOf(b) - timeOf(a)).slice(keep);
    for (const name of surplus) await this.remove(name);
    return surplus.length;
  }

  /** All backups, oldest first. @throws OperatorError when the directory cannot be read */
  async list(): Promise<ListedBackup[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch((error: unknown) => {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      throw new OperatorError(`BACKUP_DIR ${this.path} cannot be read (${code}).`, { cause: error });
    });
    const all: ListedBackup[] = [];
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      if (name.startsWith(`${PARTIAL}trial-`)) continue;
      const manifest = await readManifest(join(this.path, name)).catch(() => undefined);
      const state = stateOf(name, manifest !== undefined);
      if (state) all.push({ name, state, ...(manifest && { manifest }) });
    }
    const at = ({ name, manifest }: ListedBackup): string => manifest?.takenAt ?? name;
    return all.sort((a, b) => (at(a) < at(b) ? -1 : 1));
  }

  async discard(path: string): Promise<void> {
    await rm(join(path, MANIFEST), { force: true }); // first: what is left is not a backup
    await removeTree(path);
  }

  private async removeAll(prefix: string, except?: string): Promise<void> {
    for (const name of await this.named(prefix)) if (name !== except) await this.remove(name);
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
  return prefix === VERIFIED ? 'verified' : 'unverified';
}
