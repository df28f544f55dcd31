import { randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { intendedOwnerOf, OperatorError, syncDirectory, writeDurably } from '../../platform/config/index.js';
import { MARK, PlaceMark, SETTLING } from './place-mark.js';

const LOOK_MS = 100;
const LOOKS = 30;

/** The mark of a directory is a file. It is not linked into place: backups may be on a file system without links, such as exFAT. */
export class DirectoryMark extends PlaceMark {
  constructor(readonly place: string) {
    super();
  }

  /** A directory that does not exist may be a disk that is not mounted. */
  async prepare(): Promise<void> {
    // the operator creates it
  }

  async replace(id: string): Promise<void> {
    const draft = `${this.path}.${randomBytes(6).toString('hex')}`;
    await this.explained(async () => {
      try {
        await this.write(draft, id);
        await rename(draft, this.path);
      } finally {
        await rm(draft, { force: true });
      }
      await syncDirectory(this.place);
    });
  }

  protected create(id: string): Promise<void> {
    return this.explained(async () => {
      await this.write(this.path, id).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        return this.fill(id);
      });
      await syncDirectory(this.place);
    });
  }

  protected read(): Promise<string | undefined> {
    return this.explained(async () => {
      try {
        return (await readFile(this.path, 'utf8')).trim();
      } catch (error) {
        if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
        throw error;
      }
    });
  }

  /** An empty file may be one that another process is writing. Of several processes that find an empty file that nobody fills, the last one gets the place. */
  private async fill(id: string): Promise<void> {
    for (let looks = 0; looks < LOOKS; looks++) {
      if (await this.read()) return;
      await SETTLING.wait(LOOK_MS);
    }
    await this.replace(id);
    await SETTLING.wait();
  }

  private get path(): string {
    return join(this.place, MARK);
  }

  private async write(path: string, id: string): Promise<void> {
    await writeDurably(path, [`${id}\n`], await intendedOwnerOf(this.place));
  }

  private async explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw unusableDirectory(this.place, error);
    }
  }
}

export function unusableDirectory(path: string, error: unknown): OperatorError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const sentence = `BACKUP_DIR ${path} cannot be used (${code}); it must be a directory that the service can write.`;
  return new OperatorError(sentence, { cause: error });
}
