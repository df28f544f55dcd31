import type { Stats } from 'node:fs';
import { relative, sep } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { IGNORE_FILE, isDangerous, type Rules } from '../../folder/index.js';

export interface FileEventsOptions {
  readonly root: string;
  /** What is left out need not be watched; undefined when the rules cannot be read. */
  readonly rules: () => Promise<Rules | undefined>;
  readonly onChange: () => void;
  /** The system watches no more, for one because of a limit: the scans at intervals go on. */
  readonly onProblem: (problem: string) => void;
}

/** Tells when something in a folder may have changed. A hint: what has changed is found by the scan. */
export class FileEvents {
  private watcher: FSWatcher | undefined;
  private hasProblem = false;

  constructor(private readonly options: FileEventsOptions) {}

  /** Resolves when everything is watched. */
  async start(): Promise<void> {
    const { root, onChange } = this.options;
    const rules = await this.options.rules();
    const isIgnored = (place: string, stats?: Stats): boolean => {
      const path = relative(root, place).split(sep).join('/').normalize('NFC');
      if (path === '') return false;
      if (isDangerous(path)) return true;
      if (!rules || !stats) return false;
      return stats.isDirectory() ? rules.skips(path) : rules.leftOut(path) !== undefined;
    };
    const watcher = watch(root, {
      ...{ ignored: isIgnored, ignoreInitial: true, followSymlinks: false, atomic: false },
      ignorePermissionErrors: true,
    });
    this.watcher = watcher;
    watcher.on('all', (_event, place) => {
      onChange();
      if (relative(root, place) === IGNORE_FILE) void this.restart();
    });
    watcher.on('error', (error) => this.tell(error));
    await new Promise<void>((resolve) => watcher.once('ready', resolve));
  }

  /** With other rules, or after the folder was away. */
  async restart(): Promise<void> {
    const before = this.watcher;
    await this.start();
    await before?.close();
  }

  async close(): Promise<void> {
    await this.watcher?.close();
  }

  private tell(error: unknown): void {
    if (this.hasProblem) return;
    this.hasProblem = true;
    const { code, message } = error as NodeJS.ErrnoException;
    this.options.onProblem(
      code === 'ENOSPC' || code === 'EMFILE'
        ? 'the system watches no more files: raise fs.inotify.max_user_watches (`cloud-sync doctor`)'
        : message,
    );
  }
}
