import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { runningServerUrl } from '../../src/platform/database/index.js';
import { freePort } from '../free-port.js';
import { familyOf } from '../measure/processes.js';
import { startProgram } from './program.js';

/** The service as in production: compiled, in its own process, on the embedded PostgreSQL with fsync. */
export interface Service {
  readonly url: string;
  readonly pid: number;
  readonly databaseUrl: string;
  /** From process start to listening. */
  readonly readyMs: number;
  /** Process ids of PostgreSQL. */
  postgres(): Promise<number[]>;
  stop(): Promise<void>;
}

/** Shared by all services of a run, so that a restarted service recognizes its users. */
const AUTH_SECRET = randomBytes(32).toString('hex');

/** scripts/heap-flags.mjs returns the V8 flags of `npm start`. It is not part of the build. */
const HEAP = '../../../scripts/heap-flags.mjs';

/** All settings that differ from the defaults: a benchmark is one client with more than a thousand requests a minute. */
function environment(dataDir: string, port: number): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    BASE_URL: `http://127.0.0.1:${port}`,
    AUTH_SECRET,
    EMAIL_VERIFICATION: 'optional', // benchmark users sign up without verification
    PORT: String(port),
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '0',
  };
}

/**
 * @param nodeOptions such as `--cpu-prof`
 * @param file of the build to run; `src/main.js` is not bundled, so that functions can be attributed to their library
 */
export async function startService(
  dataDir: string,
  nodeOptions: readonly string[] = [],
  file = 'service/main.js',
): Promise<Service> {
  const { HEAP_FLAGS } = (await import(HEAP)) as { HEAP_FLAGS: readonly string[] };
  const port = await freePort();
  const started = performance.now();
  const main = join(import.meta.dirname, '../..', file);
  const program = await startProgram(
    [process.execPath, ...HEAP_FLAGS, ...nodeOptions, main],
    { env: environment(dataDir, port), cwd: dataDir },
    /"message":"listening"/,
  );
  const readyMs = performance.now() - started;
  const { pid } = program;
  const postgres = async (): Promise<number[]> => (await familyOf(pid)).filter((member) => member !== pid);
  return {
    url: `http://127.0.0.1:${port}`,
    pid,
    readyMs,
    postgres,
    databaseUrl: (await runningServerUrl(dataDir)) ?? '',
    stop: () => program.stop(),
  };
}
