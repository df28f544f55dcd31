import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from './operator-error.js';
import { chownFile, intendedOwnerOf, makeDirectories, type Owner } from './ownership.js';

/** Turns a file system error into a sentence that says how to fix it; returns any other error unchanged. */
export function explainedByDataDir(error: unknown, directory: string): unknown {
  const sentence = new Map(Object.entries(sentences(directory))).get(
    (error as NodeJS.ErrnoException).code ?? '',
  );
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

export function diskFull(directory: string): OperatorError {
  return new OperatorError(sentences(directory).ENOSPC);
}

function sentences(directory: string) {
  const denied = `${directory} cannot be read and written by this user; change its owner, or set DATA_DIR to a directory of your own.`;
  const file = `${directory} is a file or is below one; set DATA_DIR to a directory.`;
  const full = `The disk that holds ${directory} is full; free some space or set DATA_DIR to a directory on another disk.`;
  return {
    EACCES: denied,
    EPERM: denied,
    ENOTDIR: file,
    EEXIST: file,
    ENOENT: `${directory} cannot be created; set DATA_DIR to a writable directory.`,
    EROFS: `${directory} is on a read-only file system; set DATA_DIR to a writable directory.`,
    ENOSPC: full,
    EDQUOT: full,
    EIO: `The disk that holds ${directory} has I/O errors; repair it, or set DATA_DIR to a directory on another disk.`,
  };
}

/**
 * Creates a file that only its owner can read. When this resolves and the directory has been synced, the file survives a power
 * failure. Fails if the name exists already, even as a symbolic link.
 * @param intendedOwner new owner, set before anything is written; a file below DATA_DIR belongs to `intendedOwnerOf` its directory
 */
export async function writeDurably(
  path: string,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer | string>,
  intendedOwner?: Owner,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await chownFile(file, intendedOwner);
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a created, renamed or deleted name in this directory survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Returns a short text that is created once and never changes: the file appears complete or not at all, and if several
 * processes start at the same time, the first one wins. When this resolves, the file survives a power failure.
 */
export async function keptText(path: string, make: () => string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (!kept) await makeOnce(path, make());
  // Also needed for an existing file: the process that created it may not have synced the directory yet.
  await syncDirectory(dirname(path));
  return (await readFile(path, 'utf8')).trim();
}

async function makeOnce(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeDurably(draft, [text], await intendedOwnerOf(dirname(path)));
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Returns a secret that was not configured: created once, stored in `DATA_DIR/secrets` (mode 0600) and the same after every
 * restart. Two processes that start at the same time get the same secret.
 * @throws OperatorError when it can be neither read nor created
 */
export async function keptSecret(dataDir: string, name: string): Promise<string> {
  const directory = join(dataDir, 'secrets');
  try {
    await makeDirectories(directory, 0o700);
    return await keptText(join(directory, name), () => randomBytes(32).toString('base64url'));
  } catch (error) {
    throw explainedByDataDir(error, directory);
  }
}
