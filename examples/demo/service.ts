import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** The demo's own service, as a child process on a free port. */
export class Service {
  private constructor(
    readonly baseUrl: string,
    private readonly child: ChildProcess,
  ) {}

  /** @throws with the last lines of the service's output when it does not start */
  static async start(dataDir: string): Promise<Service> {
    await mkdir(dataDir, { recursive: true });
    const main = fileURLToPath(new URL('../../service/main.js', import.meta.url));
    const child = spawn(process.execPath, [main], {
      cwd: dataDir, // not the caller's: a .env there would configure another service and its database
      env: {
        ...harmlessEnvironment(),
        PORT: '0',
        DATA_DIR: dataDir,
        LOG_LEVEL: 'warn',
        RATE_LIMIT_PER_MINUTE: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        child.once('exit', () => process.exit(130));
        if (!child.kill('SIGTERM')) process.exit(130);
      });
    }
    return new Service(await addressOf(child), child);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const impatience = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(impatience);
  }
}

/** Waits for the line that names the service's address. */
async function addressOf(child: ChildProcess): Promise<string> {
  let printed = '';
  const address = new Promise<string>((resolve, reject) => {
    // Keep reading after the match: a full pipe would block the service.
    const read = (chunk: Buffer): void => {
      printed = (printed + chunk.toString()).slice(-20_000);
      const match = /https?:\/\/(localhost|127\.0\.0\.1):[1-9]\d*/.exec(printed);
      if (match) resolve(match[0]);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the process exited with ${code ?? 'a signal'}`)));
    setTimeout(() => reject(new Error('the process did not report its address')), START_TIMEOUT_MS).unref();
  });
  return address.catch((cause: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`The service did not start.\n${printed.trim().split('\n').slice(-10).join('\n')}\n`, {
      cause,
    });
  });
}

/** The variables that a program needs to run, without those that configure the service. */
function harmlessEnvironment(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'USER', 'LANG', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH', 'SystemRoot'];
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
