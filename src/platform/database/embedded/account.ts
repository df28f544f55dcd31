import { spawn } from 'node:child_process';
import { chmod, lchown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { intendedOwnerOf, OperatorError } from '../../config/index.js';
import type { Binaries } from './binaries.js';
import { type DataDirectory, errorCode, errorMessage, isRoot } from './data-directory.js';
import {
  type Account,
  type Capability,
  waitForExit,
  launch,
  type LaunchOptions,
  SYSTEM_PATH,
} from './launcher.js';

/** Accounts that PostgreSQL may run as when the service runs as root, in order of preference. */
const CANDIDATES = ['postgres', 'nobody'];

/**
 * Selects the account for PostgreSQL, which refuses to run as root. If the service runs as root, PostgreSQL runs as the owner
 * of an existing cluster, else as the owner of DATA_DIR, else as the first account of CANDIDATES that exists on this machine.
 * If the service runs as an ordinary user, PostgreSQL runs as that user (undefined).
 * @throws OperatorError when the cluster belongs to another user, or no account is available
 */
export async function serverAccount(data: DataDirectory): Promise<Account | undefined> {
  const owner = await ownerOf(data.cluster);
  if (!isRoot()) {
    if (owner === undefined || owner.uid === process.geteuid?.()) return undefined;
    throw new OperatorError(
      `The database in ${data.shown} belongs to the user with id ${owner.uid}; run the service as that user or as root, or set DATA_DIR to another directory.`,
    );
  }
  if (owner !== undefined && owner.uid !== 0) return owner;
  const intendedOwner = await intendedOwnerOf(data.path);
  if (intendedOwner && intendedOwner.uid !== 0) return intendedOwner;
  for (const name of CANDIDATES) {
    const account = await lookUp(name);
    if (account !== undefined && account.uid !== 0) return account;
  }
  throw new OperatorError(
    'PostgreSQL does not run as root and this machine has neither a user postgres nor nobody; run the service as an ordinary user, or set DATABASE_URL.',
  );
}

async function ownerOf(path: string): Promise<Account | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function lookUp(name: string): Promise<Account | undefined> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((which) => idOf(which, name)));
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

async function idOf(which: string, name: string): Promise<number | undefined> {
  const child = spawn('id', [which, name], {
    env: { PATH: SYSTEM_PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { status, stdout } = await waitForExit(child).catch(() => ({ status: null, stdout: '' }));
  return status === 0 ? Number(stdout) : undefined;
}

/**
 * Makes the account the only user of a directory. Changes the owner of the contents unless the account owns it already.
 * @throws OperatorError when root is not allowed to do that here
 */
export async function chownTo(account: Account | undefined, directory: string): Promise<void> {
  if (account !== undefined && (await stat(directory)).uid !== account.uid) {
    try {
      for (const entry of await readdir(directory, { recursive: true })) {
        await lchown(join(directory, entry), account.uid, account.gid);
      }
      await lchown(directory, account.uid, account.gid); // last, so that everything is repeated after a crash
    } catch (error) {
      throw asChownError(error);
    }
  }
  await chmod(directory, 0o700);
}

function asChownError(error: unknown): unknown {
  if (errorCode(error) !== 'EPERM') return error;
  return new OperatorError(
    'PostgreSQL does not run as root, and root may not give its files to another user here; run the service as an ordinary user, or set DATABASE_URL.',
    { cause: error },
  );
}

/**
 * Determines how the account can run PostgreSQL on these directories: without capabilities or, when root starts it below
 * directories that its account cannot enter (a clone in /root), with the least capability that gives access.
 * @returns how to launch it, and the version that `postgres --version` prints
 * @throws OperatorError when nothing works
 */
export async function findManner(
  account: Account | undefined,
  binaries: Binaries,
  data: DataDirectory,
  socketDirectory: string,
): Promise<{ manner: LaunchOptions; version: string }> {
  const environment: Record<string, string> =
    binaries.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: binaries.libraryPath };
  const capabilities: (Capability | undefined)[] =
    account === undefined ? [undefined] : [undefined, 'dac_read_search', 'dac_override'];
  let refusal = '';
  for (const capability of capabilities) {
    const manner = { account, capability, environment };
    const attempt = await tryToRun(manner, binaries, [data.path, socketDirectory]);
    if (attempt.version !== undefined) return { manner, version: attempt.version };
    refusal ||= attempt.refusal;
  }
  throw cannotRun(account, data, refusal);
}

const PROBE = 'cd "$1" && cd "$2" && test -r "$3" && "$4" --version && exec "$5" --version';

async function tryToRun(
  manner: LaunchOptions,
  { initdb, postgres, sample }: Binaries,
  directories: readonly [string, string],
): Promise<{ version?: string; refusal: string }> {
  const command = ['/bin/sh', '-c', PROBE, 'sh', ...directories, sample, initdb, postgres] as const;
  try {
    const { status, stdout, stderr } = await waitForExit(launch(manner, command, { stdio: 'pipe' }));
    const version = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
    // If PostgreSQL may not execute its own file, it prints a message and continues, but fails later when it looks for its other
    // files.
    if (status === 0 && stderr === '' && version !== undefined) return { version, refusal: '' };
    return { refusal: stderr.trim().split('\n')[0] ?? '' };
  } catch (error) {
    return { refusal: errorMessage(error) };
  }
}

function cannotRun(account: Account | undefined, data: DataDirectory, refusal: string): OperatorError {
  if (account === undefined) {
    return new OperatorError(
      `The embedded PostgreSQL does not run on this machine (${refusal}); set DATABASE_URL to another one.`,
    );
  }
  return new OperatorError(
    `PostgreSQL does not run as root, and as the user with id ${account.uid} it cannot use ${data.shown} and the installed packages (${refusal}); move them out of private directories, run the service as an ordinary user, or set DATABASE_URL.`,
  );
}
