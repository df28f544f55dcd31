import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../config/index.js';
import { chownTo } from './account.js';
import { type DataDirectory, errorCode } from './data-directory.js';
import type { Account } from './launcher.js';

/** Part of the name of the socket and its lock file; there is no TCP port. */
export const PORT = 5432;

/** Maximum length of a socket path in bytes: the size of sun_path minus its terminating zero. */
const LONGEST_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107;

/**
 * Creates the directory of the server's socket, which only the account may enter: under DATA_DIR or, where that path is too
 * long for a socket, in the directory for temporary files under a name derived from DATA_DIR.
 * @throws OperatorError when another user created it first, or that path is too long as well
 */
export async function makeSocketDirectory(
  data: DataDirectory,
  account: Account | undefined,
): Promise<string> {
  const directory = [join(data.path, 'run'), join(tmpdir(), `cloudsync-${shortHash(data.path)}`)].find(fits);
  if (directory === undefined) {
    throw new OperatorError(
      `The path of the data directory ${data.shown} is too long for a socket; set DATA_DIR to a shorter one.`,
    );
  }
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  await refuseOtherOwners(directory, account);
  await chownTo(account, directory);
  return directory;
}

function fits(directory: string): boolean {
  return Buffer.byteLength(join(directory, `.s.PGSQL.${PORT}`)) <= LONGEST_SOCKET_PATH;
}

function shortHash(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}

/** In a directory for all users, another user could create this name first and receive our password. */
async function refuseOtherOwners(directory: string, account: Account | undefined): Promise<void> {
  const found = await lstat(directory);
  const isOurs = found.uid === process.geteuid?.() || found.uid === account?.uid;
  const isClosed = (found.mode & 0o022) === 0;
  if (found.isDirectory() && isOurs && isClosed) return;
  throw new OperatorError(
    `${directory} is not a private directory of this service; remove it and start again.`,
  );
}
