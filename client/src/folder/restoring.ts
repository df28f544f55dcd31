import { BATCH_ITEMS } from './batches.js';
import { hashOf, proven, sha256 } from './contents.js';
import { isAsSynced } from './decide.js';
import { removeEmptyParents } from './deletions.js';
import { DiskError } from './errors.js';
import { keepCopy } from './keep-copy.js';
import { diskProblem, pathProblem } from './names.js';
import { Places } from './places.js';
import type { Staged } from './ports.js';
import type { RestoreRecord } from './restore-record.js';
import type { Rules } from './rules.js';
import type { Run } from './run.js';
import type { HeldBack, LocalFile } from './trees.js';

/** The files of an earlier state. */
export interface PastFiles {
  /** Paths that did not exist then. */
  readonly absent: readonly string[];
  /** Paths that had another content then. */
  readonly present: readonly string[];
  /** Paths whose content is the server's current one; written only if missing or different here. */
  readonly unchanged: readonly string[];
  /** Contents, in any order. An unavailable one has a `problem`, and does not stop the others. */
  readonly contents: (
    paths: readonly string[],
  ) => AsyncIterable<
    { readonly path: string } & ({ readonly content: Uint8Array } | { readonly problem: string })
  >;
}

/** Whether the folder has the content that was last synced. */
function isHere({ local, state }: Run, path: string): boolean {
  const [file, synced] = [local.files.get(path), state.synced.get(path)];
  return file !== undefined && synced !== undefined && isAsSynced(file, synced);
}

/** The result of a restore, by path. */
export class Restored {
  /** Paths that got another content. */
  readonly restored: string[] = [];
  /** Paths that already had the content. */
  readonly same: string[] = [];
  readonly removed: string[] = [];
  /** Paths that an earlier, interrupted attempt had restored. */
  readonly before: string[] = [];
  readonly leftOver: HeldBack[] = [];
}

/**
 * Restores files as a user would by editing them: the next sync uploads them as edits of the versions that this device has
 * seen. Replaces or removes a file only after proving that it is what was last synced, which the history has; anything else
 * is kept under another name, or stays.
 */
export class Restoring {
  readonly restored = new Restored();
  /** Recorded after the next `settle`. */
  private readonly fresh: string[] = [];

  constructor(
    private readonly run: Run,
    private readonly rules: Rules,
    private readonly record: RestoreRecord,
  ) {}

  /** Call it before `write`, because a file may have replaced a directory. */
  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      if (this.isDone(path)) continue;
      const local = this.run.local.files.get(path);
      const reason = this.notToTouch(path);
      if (reason !== undefined) this.leave(path, reason);
      else if (local) await this.attempt(path, () => this.removeFile(path, local));
      else this.finish(path, this.restored.same);
      if (this.fresh.length >= BATCH_ITEMS) await this.settle();
    }
    await this.settle();
  }

  /** @param run a run with a scan that was made after the removals */
  async write(run: Run, past: PastFiles): Promise<void> {
    const places = new Places(run.traits, run.local);
    const isWanted = (path: string): boolean => !this.isDone(path) && this.hasPlace(run, places, path);
    const missing = past.unchanged.filter((path) => !this.rules.leftOut(path) && !isHere(run, path));
    const wanted = [...past.present, ...missing].filter(isWanted);
    for await (const answer of past.contents(wanted)) {
      const { path } = answer;
      if ('problem' in answer) this.leave(path, answer.problem);
      else await this.attempt(path, () => this.writeFile(run, path, answer.content));
      if (this.fresh.length >= BATCH_ITEMS) await this.settle(run);
    }
    await this.settle(run);
  }

  private async removeFile(path: string, local: LocalFile): Promise<void> {
    const { disk, clock } = this.run.parts;
    const synced = this.run.state.synced.get(path);
    const stat = synced && (await proven(disk, clock, local.diskPath, local.stat, synced.plainHash));
    if (!stat) {
      this.leave(path, 'it was not there then, but has changes that the server does not have: it stays');
      return;
    }
    await disk.remove(local.diskPath, stat);
    this.run.afterFlush([local.diskPath], () => undefined);
    await removeEmptyParents(this.run, local.diskPath);
    this.finish(path, this.restored.removed);
  }

  private hasPlace(run: Run, places: Places, path: string): boolean {
    const problem = this.notToTouch(path) ?? pathProblem(path) ?? diskProblem(run.traits, path);
    if (problem !== undefined) this.leave(path, problem);
    else if (run.local.files.has(path)) return true;
    else {
      const blocker = places.take(path);
      if (!blocker) return true;
      this.leave(path, `${blocker.path} is in the way: move it elsewhere, and restore again`);
    }
    return false;
  }

  /** Rules hold in both directions: an excluded path is neither synced nor written. */
  private notToTouch(path: string): string | undefined {
    const left = this.rules.leftOut(path);
    return left && `not synced here: ${left.reason}`;
  }

  private async writeFile(run: Run, path: string, content: Uint8Array): Promise<void> {
    const { disk, clock } = run.parts;
    const local = run.local.files.get(path);
    const plainHash = sha256(content);
    if (local && (await hashOf(disk, clock, local.diskPath, local.stat)).hash === plainHash) {
      this.finish(path, this.restored.same);
      return;
    }
    run.options.onProgress?.({ doing: 'restore', path });
    const staged = await disk.stage(content); // before the name becomes free: a full disk changes nothing
    try {
      await this.place(run, path, staged);
    } catch (error) {
      await disk.discard(staged);
      throw error;
    }
    this.finish(path, this.restored.restored);
  }

  private async place(run: Run, path: string, staged: Staged): Promise<void> {
    const { disk, clock } = run.parts;
    const [local, synced] = [run.local.files.get(path), run.state.synced.get(path)];
    const to = run.diskPath(path);
    let seen = local && synced && (await proven(disk, clock, to, local.stat, synced.plainHash));
    if (local && !seen) {
      if (local.stat.size > run.options.maxFileBytes)
        throw new DiskError('in-the-way', 'what is there is larger than the limit: move it elsewhere first');
      seen = await keepCopy(run, path, local);
    }
    await disk.place(staged, to, seen);
    run.afterFlush([to], () => undefined);
  }

  private async attempt(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.leave(path, error.message);
    }
  }

  private isDone(path: string): boolean {
    if (!this.record.has(path)) return false;
    this.restored.before.push(path);
    return true;
  }

  private finish(path: string, list: string[]): void {
    list.push(path);
    this.fresh.push(path);
  }

  private leave(path: string, reason: string): void {
    this.restored.leftOver.push({ path, reason });
  }

  /** Flushes the disk before the record, because recorded files are not restored again. */
  private async settle(run = this.run): Promise<void> {
    await run.settle();
    await this.record.add(this.fresh.splice(0));
  }
}
