import { constants } from 'node:fs';
import { access, chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  diskFull,
  explainedByDataDir,
  chownDirectory,
  intendedOwnerOf,
  makeDirectories,
} from '../../config/index.js';

/** SQLSTATE for a full disk. */
const OUT_OF_DISK = '53100';

/** The paths of the embedded database under DATA_DIR. */
export interface DataDirectory {
  /** DATA_DIR as the operator wrote it, for messages. */
  readonly shown: string;
  /** The real path, which stays valid when the working directory changes. */
  readonly path: string;
  /** The PostgreSQL data directory; it exists only once it is complete. */
  readonly cluster: string;
  readonly passwordFile: string;
}

/** Whether this process bypasses permission checks and runs as a user for which PostgreSQL refuses to start. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/**
 * Resolves the paths under an existing DATA_DIR.
 * @throws the error of realpath, ENOENT when there is no such directory
 */
export async function locateDataDirectory(shown: string): Promise<DataDirectory> {
  const path = await realpath(shown);
  return {
    shown,
    path,
    cluster: join(path, 'postgres'),
    passwordFile: join(path, 'secrets', 'postgres-password'),
  };
}

/**
 * Creates DATA_DIR if it is missing. Only this user may enter it, except that root lets the account of PostgreSQL pass through
 * it (but not list it); everything inside is protected separately. Root does the same with an existing empty directory; one
 * with contents keeps the mode that the operator has set.
 * @throws OperatorError when it is a file or cannot be written, or its disk is full
 */
export async function openDataDirectory(shown: string): Promise<DataDirectory> {
  try {
    await makeDirectory(shown);
    await access(`${shown}/.`, constants.R_OK | constants.W_OK | constants.X_OK); // ENOTDIR for a file
    return await locateDataDirectory(shown);
  } catch (error) {
    throw explainedByDataDir(error, shown);
  }
}

async function makeDirectory(path: string): Promise<void> {
  await makeDirectories(dirname(path), 0o777);
  try {
    await mkdir(path);
    const intendedOwner = await intendedOwnerOf(dirname(path));
    await chmod(path, isRoot() && !intendedOwner ? 0o711 : 0o700); // the umask would apply to mkdir's own mode
    await chownDirectory(path, intendedOwner);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    if (isRoot()) await openUnused(path);
  }
}

async function openUnused(path: string): Promise<void> {
  const found = await stat(path);
  if (!found.isDirectory() || found.uid !== 0 || (await readdir(path)).length > 0) return;
  await chmod(path, found.mode | 0o011);
}

/**
 * Turns a fault of DATA_DIR into a sentence that says how to fix it. Excludes ENOENT, which may be about one of the server's
 * own files.
 */
export function explained(error: unknown, shown: string): unknown {
  const code = errorCode(error);
  if (code === 'ENOENT') return error;
  return code === OUT_OF_DISK ? diskFull(shown) : explainedByDataDir(error, shown);
}

/**
 * The code of a system or PostgreSQL error, such as ENOENT or 57P03. Checks the shape of the object: in a separate context, as
 * under jest, a system error is not an instance of this realm's Error.
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The message of an error from any realm. */
export function errorMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}
