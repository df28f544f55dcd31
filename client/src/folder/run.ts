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
  /** Largest content that is sent or fetched. */
  readonly maxFileBytes: number;
  /** Larger contents are streamed through the disk instead of memory. 8 MiB by default. */
  readonly streamAbove?: number | undefined;
  /** Sync only these directories and files; undefined: everything. */
  readonly only?: readonly string[] | undefined;
  /** Asks before many deletions at once. Without it they are refused. */
  readonly confirm?: ((deletions: MassDeletion) => Promise<boolean>) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** State that the rounds of one sync share. */
export class Memory {
  /** failed paths, with the content hash of the attempt */
  readonly failed = new Map<string, string>();
  /** new files whose name was taken by an entry that the scan had not seen; the next scan may see it */
  readonly stumbled = new Set<string>();
}

/** State that the operations of one round share. */
export class Run {
  /** paths that differed from the plan: the next round scans them again */
  readonly overtaken = new Set<string>();
  /** whether another round has to confirm something that was done */
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

  /** The existing or future location of a path on this disk; existing directories keep their spelling. */
  diskPath(path: string): DiskPath {
    const known = this.local.files.get(path)?.diskPath;
    if (known !== undefined) return known;
    const parent = parentOf(path);
    if (parent === '') return path;
    return joined(this.local.directories.get(parent) ?? this.diskPath(parent), nameOf(path));
  }

  /** Runs the work of one operation. A refusal by the disk affects only its path. */
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

  /** Whether the same operation has failed before in this sync: it is not retried before the next one. */
  hasFailed(operation: Operation): boolean {
    return this.memory.failed.get(operation.path) === contentOf(operation);
  }

  /** Runs `fact`, which updates the state, once the entries of these directories are durable. */
  afterFlush(paths: readonly DiskPath[], fact: () => void): void {
    for (const path of paths) for (const parent of ['', ...parentsOf(path)]) this.touched.add(parent);
    this.facts.push(fact);
    this.hasActed = true;
  }

  /** Flushes the disk before the state: a newer state would take the disk's old content for an edit. */
  async settle(): Promise<void> {
    if (this.touched.size > 0) await this.parts.disk.flush(this.touched);
    this.touched.clear();
    for (const fact of this.facts.splice(0)) fact();
    await this.state.sync();
  }
}

const contentOf = (operation: Operation): string =>
  'remote' in operation ? operation.remote.contentHash : operation.kind;
