import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from './operator-error.js';
import { giveFile, heirOf, makeDirectories, type Owner } from './ownership.js';

/** Turns an error of the file system into a sentence with its cure; any other error comes back as it is. */
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
  const file = `${directory} is a file or lies below one; set DATA_DIR to a directory.`;
  const full = `The disk that holds ${directory} is full; free some space or set DATA_DIR to a directory on another disk.`;
  return {
    EACCES: denied,
    EPERM: denied,
    ENOTDIR: file,
    EEXIST: file,
    ENOENT: `${directory} cannot be made; set DATA_DIR to a directory that can be written.`,
    EROFS: `${directory} is on a read-only file system; set DATA_DIR to a directory that can be written.`,
    ENOSPC: full,
    EDQUOT: full,
    EIO: `The disk that holds ${directory} does not work; mend it, or set DATA_DIR to a directory on another disk.`,
  };
}

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

/**
 * A short text that is made once and stays: the file appears complete or not at all, and of processes that start at
 * once the first one wins. When this resolves, the file survives a power cut.
 */
export async function keptText(path: string, make: () => string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (!kept) await makeOnce(path, make());
  // Also for a file that was found: who made it may not have come to this yet.
  await syncDirectory(dirname(path));
  return (await readFile(path, 'utf8')).trim();
}

async function makeOnce(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeDurably(draft, [text], await heirOf(dirname(path)));
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * A secret that nobody has set: made once, kept under `DATA_DIR/secrets` (mode 0600), the same at every later start.
 * Two processes that start at once agree.
 * @throws OperatorError when it can be neither read nor made
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
