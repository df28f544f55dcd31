import { constants } from 'node:fs';
import { access, chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  diskFull,
  explainedByDataDir,
  giveDirectory,
  heirOf,
  makeDirectories,
} from '../../../config/index.js';

/** In PostgreSQL's words. */
const OUT_OF_DISK = '53100';

/** Where the embedded database keeps its things under DATA_DIR. */
export interface DataDirectory {
  /** DATA_DIR as the operator wrote it, for sentences. */
  readonly shown: string;
  /** The real path, so that it stays true when the working directory changes. */
  readonly path: string;
  /** The PostgreSQL data directory; it exists only when it is complete. */
  readonly cluster: string;
  readonly passwordFile: string;
}

/** True when this process has no permission check to fear, and PostgreSQL refuses to run as this user. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/**
 * Names the places under an existing DATA_DIR.
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
 * Makes DATA_DIR when it is missing. Nobody but this user may enter it, except that root opens the way through it
 * (not a look into it) for the account that PostgreSQL runs as; what lies in it is protected one by one.
 * So it does with an empty directory; the mode of one that holds something is the operator's, and stays.
 * @throws OperatorError when it is a file, cannot be written, or its disk is full
 */
export async function openDataDirectory(shown: string): Promise<DataDirectory> {
  try {
    await makeDirectory(shown);
    await access(`${shown}/.`, constants.R_OK | constants.W_OK | constants.X_OK); // of a file it is ENOTDIR
    return await locateDataDirectory(shown);
  } catch (error) {
    throw explainedByDataDir(error, shown);
  }
}

async function makeDirectory(path: string): Promise<void> {
  await makeDirectories(dirname(path), 0o777);
  try {
    await mkdir(path);
    const heir = await heirOf(dirname(path));
    await chmod(path, isRoot() && !heir ? 0o711 : 0o700); // mkdir's own mode would pass through the umask
    await giveDirectory(path, heir);
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

/** As a sentence with its cure, where it is a fault of DATA_DIR. What is not found may be a file of the server itself. */
export function explained(error: unknown, shown: string): unknown {
  const code = errorCode(error);
  if (code === 'ENOENT') return error;
  return code === OUT_OF_DISK ? diskFull(shown) : explainedByDataDir(error, shown);
}

/**
 * The code of a system or PostgreSQL error, such as ENOENT or 57P03. It looks at the shape: a system error is no
 * instance of this realm's Error where code runs in a context of its own, as it does under jest.
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The message of an error, of this realm or another. */
export function errorMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}
