import { closeSync, constants, fsyncSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDangerous, onDisk, safeParent } from '../folder/index.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Names that this system takes for something else than a name below a directory. */
const NOT_BELOW = process.platform === 'win32' ? /[\\:]/ : /\0/;

/** Writes below one directory: never outside it, through no link, over no file, and nothing that programs obey. */
export class ExportOutput {
  /** @param isDry whether it only checks what would be written */
  constructor(
    private readonly root: string,
    private readonly isDry = false,
  ) {}

  /** @param path segments joined by `/` @throws DiskError; RangeError with a sentence that says why not */
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
    unlinkSync(place); // a full disk must not leave half a file that looks like a whole one
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
