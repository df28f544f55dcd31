import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { giveFile, type Owner } from './ownership.js';

/**
 * Makes a file that only its owner can read. It survives a power cut when this resolves and its directory is synced.
 * What has that name already, a link above all, is an error.
 * @param heir whom it is given to before there is anything in it; what lies under DATA_DIR belongs to `heirOf` its directory
 */
export async function writeDurably(
  path: string,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer | string>,
  heir?: Owner,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await giveFile(file, heir);
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a created, renamed or removed name in this directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
