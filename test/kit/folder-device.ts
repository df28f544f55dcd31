import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Session, VaultKeys } from '../../client/src/core/index.js';
import {
  type Disk,
  FolderSync,
  NodeDisk,
  NodeStateFile,
  OWN_DIRECTORY,
  type Remote,
  type Report,
  systemClock,
  systemRandom,
  VaultCipher,
  WorkspaceRemote,
} from '../../client/src/folder/index.js';

export interface FolderDeviceOptions {
  readonly session: Session;
  readonly workspaceId: string;
  readonly keys: VaultKeys;
  /** Wraps the service for the engine. */
  readonly remote?: (remote: Remote) => Remote;
  /** Wraps the disk for the engine. */
  readonly disk?: (disk: Disk) => Disk;
}

/** A folder of this machine, and its state beside it. Reopened for each sync, as by a new process. */
export class FolderDevice {
  readonly root: string;
  /** The directory of the state. */
  readonly state: string;

  /** @param home the directory that contains the folder, named like the device, and its state */
  constructor(
    readonly name: string,
    home: string,
    private readonly options: FolderDeviceOptions,
  ) {
    this.root = join(home, name);
    this.state = join(home, `${name}.sync`);
    mkdirSync(this.root, { recursive: true });
  }

  write(path: string, content: string | Buffer): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  remove(path: string): void {
    rmSync(join(this.root, path));
  }

  sync(): Promise<Report> {
    return this.opened((folder) => folder.sync());
  }

  async opened<T>(
    work: (folder: FolderSync) => Promise<T>,
    onDisk: Disk = new NodeDisk(this.root),
  ): Promise<T> {
    const { session, workspaceId: workspace, keys } = this.options;
    const { remote = (real: Remote) => real, disk = (real: Disk) => real } = this.options;
    const stateFile = new NodeStateFile(join(this.state, 'journal'));
    try {
      const real = new WorkspaceRemote(session, workspace, this.name, () => folder.stamp);
      const folder: FolderSync = await FolderSync.open({
        parts: {
          ...{ disk: disk(onDisk), remote: remote(real), cipher: new VaultCipher(keys) },
          ...{ clock: systemClock, random: systemRandom },
        },
        stateFile,
        workspace,
        options: { device: this.name, maxFileBytes: 50 * 1024 * 1024 },
      });
      return await work(folder);
    } finally {
      await stateFile.close();
    }
  }

  /** Every synced file with its text, ordered by name. */
  async files(): Promise<Map<string, string>> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(this.root.length + 1));
    const synced = paths.filter((path) => !path.startsWith(`${OWN_DIRECTORY}/`)).sort();
    const texts = synced.map(async (path) => [path, await readFile(join(this.root, path), 'utf8')] as const);
    return new Map(await Promise.all(texts));
  }
}

/** Wraps an object whose methods are asynchronous or generators, and calls `before` and `after` around each call. */
export function around<T extends object>(
  real: T,
  { before, after }: { readonly before?: (name: string) => void; readonly after?: (name: string) => void },
): T {
  return new Proxy(real, {
    get(target, name: string) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const call = (value as (...parameters: unknown[]) => unknown).bind(target);
      if (value.constructor.name === 'AsyncGeneratorFunction')
        return async function* (...parameters: unknown[]) {
          before?.(name);
          for await (const item of call(...parameters) as AsyncIterable<unknown>) {
            yield item;
            before?.(name);
          }
          after?.(name);
        };
      return async (...parameters: unknown[]) => {
        before?.(name);
        const result: unknown = await call(...parameters);
        after?.(name);
        return result;
      };
    },
  });
}
