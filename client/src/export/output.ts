import { closeSync, constants, fsyncSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDangerous, onDisk, safeParent } from '../folder/index.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Characters with which a name would not be a name below a directory on this system. */
const NOT_BELOW = process.platform === 'win32' ? /[\\:]/ : /\0/;

/** Writes files below one directory: never outside it, through links, over files, or where programs interpret them. */
export class ExportOutput {
  /** @param isDry whether it only checks what would be written */
  constructor(
    private readonly root: string,
    private readonly isDry = false,
  ) {}

  /** @param path segments joined by `/` @throws DiskError; RangeError with the reason as a sentence */
  async write(path: string, content: Uint8Array): Promise<void> {
    const names = path.split('/');
    if (names.some((name) => ['', '.', '..'].includes(name)) || NOT_BELOW.test(path))
      throw new RangeError('the name is not one of a file below the directory');
    if (isDangerous(path)) throw new RangeError('programs or the system obey what is there: not written');
    if (this.isDry) return;
    await onDisk(() =>
      safeParent(this.root, path, true, (parent) => writeNew(join(parent, names.at(-1) ?? ''), content)),
    );
  }
}

function writeNew(place: string, content: Uint8Array): void {
  const descriptor = openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
  try {
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
  } catch (error) {
    unlinkSync(place); // on a full disk, leave no partial file that looks complete
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
