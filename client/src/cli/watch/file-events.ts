import type { Stats } from 'node:fs';
import { relative, sep } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { IGNORE_FILE, isDangerous, type Rules } from '../../folder/index.js';

export interface FileEventsOptions {
  readonly root: string;
  /** Files that the rules leave out are not watched; undefined when the rules cannot be read. */
  readonly rules: () => Promise<Rules | undefined>;
  readonly onChange: () => void;
  /** Called when the system cannot watch everything, for example because of a limit. The periodic scans continue. */
  readonly onProblem: (problem: string) => void;
}

/** Signals that something in a folder may have changed. Only a hint: the scan finds the actual changes. */
export class FileEvents {
  private watcher: FSWatcher | undefined;
  private hasProblem = false;
  private turn: Promise<void> = Promise.resolve();
  private readonly closing = new AbortController();

  constructor(private readonly options: FileEventsOptions) {}

  /** Resolves when everything is watched. */
  start(): Promise<void> {
    return this.restart();
  }

  /** Watches again, with new rules or after the folder was away. Serialized, so that each call closes the last watcher. */
  restart(): Promise<void> {
    return (this.turn = this.turn.then(() => this.replaceWatcher()));
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.turn;
    await this.watcher?.close();
  }

  /** Closes the old watcher only when the new one is ready, so that no change is missed. */
  private async replaceWatcher(): Promise<void> {
    const { root, onChange } = this.options;
    const { signal } = this.closing;
    const rules = await this.options.rules();
    if (signal.aborted) return;
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
    const before = this.watcher;
    this.watcher = watcher;
    watcher.on('all', (_event, place) => {
      onChange();
      if (relative(root, place) === IGNORE_FILE) void this.restart();
    });
    watcher.on('error', (error) => this.tell(error));
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        signal.removeEventListener('abort', goOn); // it lives longer than the watcher
        resolve();
      };
      watcher.once('ready', goOn);
      signal.addEventListener('abort', goOn);
    });
    await before?.close();
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
