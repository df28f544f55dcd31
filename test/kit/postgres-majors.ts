import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './deployment.js';
import { isRequired } from './test-servers.js';

interface PostgresServer {
  /** Of a superuser. */
  readonly url: string;
  /** Restarts it as a standby, until somebody promotes it. */
  standBy(): Promise<void>;
  /** Removes it. */
  stop(): Promise<void>;
}

interface Majors {
  readonly installPostgres: (major: number) => Promise<string>;
  readonly startPostgres: (major: number) => Promise<PostgresServer>;
}

const SCRIPT = pathToFileURL(join(ROOT, 'scripts', 'postgres-majors.mjs')).href;

export const { installPostgres, startPostgres } = (await import(SCRIPT)) as Majors;

/** `describe` for what needs a PostgreSQL of another major version, which npm installs. Without a network it is skipped; in CI it fails. */
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
