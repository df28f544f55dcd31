import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DiskError } from './errors.js';
import { diskError } from './node-errors.js';
import type { StateFile } from './ports.js';
import { flushDirectoryOf, replacePrivate } from './private-file.js';

/** The journal as a file. Only its owner can read it, because it contains all file names. Refusals are DiskErrors. */
export class NodeStateFile implements StateFile {
  private handle: FileHandle | undefined;

  constructor(private readonly path: string) {}

  async read(): Promise<Uint8Array> {
    try {
      return await readFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Uint8Array();
      throw this.refused(error);
    }
  }

  truncate(length: number): Promise<void> {
    return this.kept(async () => {
      const file = await this.opened();
      await file.truncate(length);
      await file.sync();
    });
  }

  append(bytes: Uint8Array): Promise<void> {
    return this.kept(async () => (await this.opened()).appendFile(bytes));
  }

  sync(): Promise<void> {
    return this.kept(async () => (await this.opened()).sync());
  }

  replace(bytes: Uint8Array): Promise<void> {
    return this.kept(async () => {
      await this.close();
      await replacePrivate(this.path, bytes);
    });
  }

  async close(): Promise<void> {
    await this.handle?.close();
    this.handle = undefined;
  }

  private async kept(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw this.refused(error);
    }
  }

  /** The message names the journal, which may be on another disk than the folder. */
  private refused(error: unknown): unknown {
    const cause = diskError(error);
    if (!(cause instanceof DiskError)) return error;
    return new DiskError(cause.failure, `the state cannot be kept in ${this.path}: ${cause.message}`, {
      cause,
    });
  }

  private async opened(): Promise<FileHandle> {
    if (this.handle) return this.handle;
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    this.handle = await open(this.path, 'a', 0o600);
    await flushDirectoryOf(this.path);
    return this.handle;
  }
}
