import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFull, keptSecret, OperatorError, syncDirectory } from '../../config/index.js';
import { chownTo } from './account.js';
import type { Binaries } from './binaries.js';
import { type DataDirectory, errorCode } from './data-directory.js';
import { waitForExit, launch, type LaunchOptions } from './launcher.js';
import { readServerLine } from './socket-directory.js';

/** The superuser, and the service's database. */
export const USER = 'cloudsync';
export const DATABASE = 'cloudsync';

const UNFINISHED = 'postgres.unfinished-';

/**
 * Creates the cluster if there is none, and gives it to the server's account. The cluster appears under its name complete and
 * synced, or not at all: a crash leaves a directory that the next start removes.
 * @param version the major version of the programs
 * @returns the superuser's password, stored in the password file (mode 0600)
 * @throws OperatorError when the cluster has another major version or no password file, and when the disk is full
 */
export async function openCluster(
  data: DataDirectory,
  { initdb }: Binaries,
  manner: LaunchOptions,
  version: string,
): Promise<{ password: string; isNew: boolean }> {
  await removeUnfinished(data);
  const isNew = !(await holdsCluster(data, version));
  if (isNew) {
    const password = await newPassword(data);
    await createCluster(data, initdb, manner, password);
    return { password, isNew };
  }
  await chownTo(manner.account, data.cluster);
  return { password: await readPassword(data), isNew };
}

/** @throws OperatorError when the password file is missing */
export async function readPassword({ passwordFile, shown }: DataDirectory): Promise<string> {
  try {
    return (await readFile(passwordFile, 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new OperatorError(
      `The password of the database in ${shown} is missing; restore secrets/postgres-password from the same backup.`,
      { cause: error },
    );
  }
}

/** The password file must be synced before the cluster exists: without its password, a cluster is lost. */
async function newPassword({ path }: DataDirectory): Promise<string> {
  const password = await keptSecret(path, 'postgres-password');
  await syncDirectory(join(path, 'secrets'));
  return password;
}

async function holdsCluster({ cluster, shown }: DataDirectory, version: string): Promise<boolean> {
  const entries = await readdir(cluster).catch((error: unknown): string[] => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  if (entries.length === 0) return false;
  if (!entries.includes('PG_VERSION')) {
    throw new OperatorError(
      `${shown}/postgres contains something other than a database; move it away, or set DATA_DIR to another directory.`,
    );
  }
  const found = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  if (found === version) return true;
  throw new OperatorError(
    `The database in ${shown} was created by PostgreSQL ${found} and this release contains PostgreSQL ${version}; with the release that created it, run "npm run admin -- backup create DIRECTORY"; then move ${shown}/postgres away and, with this one, run "npm run admin -- backup restore DIRECTORY".`,
  );
}

/** An initdb whose parent was killed may still write there; a later start then removes what it leaves behind. */
async function removeUnfinished({ path }: DataDirectory): Promise<void> {
  const leftovers = (await readdir(path)).filter((name) => name.startsWith(UNFINISHED));
  for (const name of leftovers) {
    await rm(join(path, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

async function createCluster(
  data: DataDirectory,
  initdb: string,
  manner: LaunchOptions,
  password: string,
): Promise<void> {
  const unfinished = await mkdtemp(join(data.path, UNFINISHED));
  try {
    await chownTo(manner.account, unfinished);
    await runInitdb(data, initdb, manner, unfinished, password);
    await syncDirectory(unfinished);
    await rename(unfinished, data.cluster);
    await syncDirectory(data.path);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Uses PostgreSQL's builtin locale C.UTF-8: it sorts by code point on every machine, so an update of the system's C library never
 * corrupts the order of an index, and it still classifies the letters of all languages.
 */
const INITDB_OPTIONS = [
  `--username=${USER}`,
  '--pwfile=/dev/stdin',
  '--auth-local=scram-sha-256',
  '--auth-host=scram-sha-256',
  '--data-checksums',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
];

async function runInitdb(
  data: DataDirectory,
  initdb: string,
  manner: LaunchOptions,
  directory: string,
  password: string,
): Promise<void> {
  // initdb opens its input by name, which works for a pipe but not for the socket that Node creates.
  const command = ['/bin/sh', '-c', 'cat | "$@"', 'sh', initdb, ...INITDB_OPTIONS, directory] as const;
  const { status, stderr } = await waitForExit(launch(manner, command, { stdio: 'pipe' }), `${password}\n`);
  if (status === 0) return;
  if (stderr.includes('No space left on device')) throw diskFull(data.shown);
  throw new OperatorError(
    `The database in ${data.shown} could not be created (${firstFault(stderr)}); fix that, or set DATABASE_URL to a PostgreSQL of your own.`,
  );
}

function firstFault(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const fault = lines.find((line) => /\b(error|fatal|panic):/i.test(line)) ?? lines[0] ?? '';
  return readServerLine(fault).text.replace(/^initdb: /, '');
}
