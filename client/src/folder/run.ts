import { DiskError } from './errors.js';
import type { Traits } from './names.js';
import type { Operation } from './operations.js';
import type { MassDeletion } from './plan.js';
import type { Cipher, Clock, Disk, DiskPath, Random, Remote } from './ports.js';
import type { Report } from './report.js';
import type { Session } from './session.js';
import type { FolderState } from './state.js';
import { joined, type LocalTree, nameOf, parentOf, parentsOf } from './trees.js';

export interface Parts {
  readonly disk: Disk;
  readonly remote: Remote;
  readonly cipher: Cipher;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Progress {
  readonly doing: 'upload' | 'download' | 'compare' | 'restore';
  readonly path: string;
}

export interface SyncOptions {
  /** appears in the names of conflict copies */
  readonly device: string;
  /** The longest content that is sent or fetched. */
  readonly maxFileBytes: number;
  /** Contents above this pass through the disk and are not held in memory. 8 MiB unless told. */
  readonly streamAbove?: number | undefined;
  /** Only these directories and files are synced; undefined: everything. */
  readonly only?: readonly string[] | undefined;
  /** Asks for many deletions at once. Without it they are refused. */
  readonly confirm?: ((deletions: MassDeletion) => Promise<boolean>) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What the rounds of one sync share. */
export class Memory {
  /** what has failed, with the content hash of the attempt */
  readonly failed = new Map<string, string>();
  /** new files whose name was taken by something that the scan had not seen; the next scan may see it */
  readonly stumbled = new Set<string>();
}

/** What the operations of one round share. */
export class Run {
  /** paths that were something else than the plan saw: the next round looks again */
  readonly overtaken = new Set<string>();
  /** whether anything was done that another round has to confirm */
  hasActed = false;
  private readonly touched = new Set<DiskPath>();
  private readonly facts: (() => void)[] = [];

  constructor(
    readonly parts: Parts,
    readonly options: SyncOptions,
    readonly state: FolderState,
    readonly session: Session,
    readonly report: Report,
    readonly traits: Traits,
    readonly local: LocalTree,
    private readonly memory: Memory,
  ) {}

  /** Where a path is on this disk, or would be: existing directories keep their spelling. */
  diskPath(path: string): DiskPath {
    const known = this.local.files.get(path)?.diskPath;
    if (known !== undefined) return known;
    const parent = parentOf(path);
    if (parent === '') return path;
    return joined(this.local.directories.get(parent) ?? this.diskPath(parent), nameOf(path));
  }

  /** Does one path's work. What the disk refuses is that path's alone. */
  async attempt(operation: Operation, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      const { failure, message } = error;
      if (failure === 'exists' && this.memory.stumbled.has(operation.path))
        this.fail(operation, 'something that is not synced has its name: move that elsewhere');
      else if (failure === 'changed' || failure === 'exists' || failure === 'absent')
        this.overtaken.add(operation.path);
      else this.fail(operation, message);
      if (failure === 'exists') this.memory.stumbled.add(operation.path);
    }
  }

  fail(operation: Operation, reason: string): void {
    this.report.failed.set(operation.path, reason);
    this.memory.failed.set(operation.path, contentOf(operation));
  }

  /** Whether the same has failed before in this sync: it is not tried again before the next one. */
  hasFailed(operation: Operation): boolean {
    return this.memory.failed.get(operation.path) === contentOf(operation);
  }

  /** States a fact once the names in these directories are durable. */
  afterFlush(paths: readonly DiskPath[], fact: () => void): void {
    for (const path of paths) for (const parent of ['', ...parentsOf(path)]) this.touched.add(parent);
    this.facts.push(fact);
    this.hasActed = true;
  }

  /** A state that is newer than the disk would take the disk's old content for an edit: the disk comes first. */
  async settle(): Promise<void> {
    if (this.touched.size > 0) await this.parts.disk.flush(this.touched);
    this.touched.clear();
    for (const fact of this.facts.splice(0)) fact();
    await this.state.sync();
  }
}

const contentOf = (operation: Operation): string =>
  'remote' in operation ? operation.remote.contentHash : operation.kind;
