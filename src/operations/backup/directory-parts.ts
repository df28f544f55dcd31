import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { OperatorError, syncDirectory, writeDurably } from '../../platform/config/index.js';
import { BackupParts } from './backup-parts.js';

/** A directory, which its own user alone can read. */
export class DirectoryParts extends BackupParts {
  readonly name: string;

  constructor(path: string) {
    super();
    this.name = resolve(path);
  }

  async begin(): Promise<void> {
    await mkdir(this.name, { recursive: true, mode: 0o700 });
    const names = await readdir(this.name);
    if (names.length > 0)
      throw new OperatorError(`${this.name} is not empty; a backup needs an empty directory.`);
    for (const name of ['tables', 'blobs']) await mkdir(this.pathOf(name), { mode: 0o700 });
  }

  async write(path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const file = this.pathOf(path);
    if (dirname(path).includes('/')) await makeDirectory(dirname(file)); // `begin` has made the others
    try {
      await writeDurably(file, chunks);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(file, { force: true });
      throw error;
    }
  }

  async complete(path: string, text: string): Promise<void> {
    await this.syncNames();
    const draft = this.pathOf(`${path}.draft`);
    await writeDurably(draft, [Buffer.from(text)]);
    await rename(draft, this.pathOf(path));
    await syncDirectory(this.name);
  }

  /** A stream that is made but not read would end the process when it fails to open. */
  async *read(path: string): AsyncGenerator<Buffer, void> {
    for await (const chunk of createReadStream(this.pathOf(path))) yield chunk as Buffer;
  }

  close(): void {
    // no file is held open
  }

  /** A file survives a power failure only when its directory entry does. */
  private async syncNames(): Promise<void> {
    const blobs = this.pathOf('blobs');
    for (const name of await readdir(blobs)) await syncDirectory(join(blobs, name));
    await syncDirectory(blobs);
    await syncDirectory(this.pathOf('tables'));
  }

  private pathOf(path: string): string {
    return join(this.name, path);
  }
}

/** Not `recursive`: a draft that another run has removed must not come back. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
