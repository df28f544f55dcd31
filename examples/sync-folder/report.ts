import type { LocalFile, Skipped } from './walk.js';

/** The results of one sync. */
export class SyncReport {
  /** plaintext bytes by path */
  readonly uploaded = new Map<string, number>();
  readonly downloaded = new Map<string, number>();
  /** removed from the folder because another device deleted it */
  readonly removed = new Set<string>();
  /** deleted on the server because it was deleted in the folder */
  readonly deleted = new Set<string>();
  /** where this device's version went when both had changed a file */
  readonly conflicts: string[] = [];
  /** left out, with the reason by path */
  readonly skipped = new Map<string, string>();
  /** files in the folder that are also on the server */
  files = 0;
  unchanged = 0;
  seconds = 0;
  private paths: string[] = [];
  private readonly startedAt = performance.now();

  see(files: LocalFile[], skipped: Skipped[]): void {
    this.skipped.clear();
    this.paths = files.map((file) => file.path);
    for (const { path, reason } of skipped) this.skip(path, reason);
  }

  skip(path: string, reason: string): void {
    this.skipped.set(path, reason);
  }

  finish(): this {
    const kept = this.paths.filter((path) => !this.skipped.has(path));
    this.files = kept.length;
    this.unchanged = kept.filter((path) => !this.uploaded.has(path) && !this.downloaded.has(path)).length;
    this.seconds = (performance.now() - this.startedAt) / 1_000;
    return this;
  }

  /** For example "12 files, 3 uploaded, 9 unchanged in 0.4 s (1.2 MB/s)". */
  summary(verb: 'uploaded' | 'downloaded'): string {
    const moved = this[verb];
    const megabytes = [...moved.values()].reduce((sum, size) => sum + size, 0) / 1e6;
    const speed = megabytes > 0 ? ` (${(megabytes / this.seconds).toFixed(1)} MB/s)` : '';
    const counts = `${filesOf(this.files)}, ${number(moved.size)} ${verb}, ${number(this.unchanged)} unchanged`;
    return `${counts} in ${this.seconds.toFixed(2)} s${speed}`;
  }
}

/** For example "1 file". */
export function filesOf(count: number): string {
  return `${number(count)} ${count === 1 ? 'file' : 'files'}`;
}

/** For example "1,234". */
export function number(count: number): string {
  return count.toLocaleString('en');
}
