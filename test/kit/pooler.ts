import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../bench/free-port.js';
import type { TestDatabase } from './database.js';
import { spawnServer } from './test-servers.js';

/** Kills the pooler when the test process dies without stopping it, which closes its standard input. */
const LEASH =
  'command -v pgbouncer >&2 || exit; pgbouncer "$@" </dev/null & cat >/dev/null; kill -9 $!; wait';

export interface TestPooler {
  /** Value for DATABASE_URL. */
  readonly url: string;
  stop(): Promise<void>;
}

type PoolMode = 'session' | 'transaction' | 'statement';

/** A PgBouncer in front of the database, with default settings otherwise. @throws when it is not installed */
export async function startPooler(
  database: TestDatabase,
  mode: PoolMode = 'session',
  settings = '',
): Promise<TestPooler> {
  const directory = await mkdtemp(join(tmpdir(), 'sync-pooler-'));
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(file, configurationFor(database, port, mode, settings));
  const asAnother = process.getuid?.() === 0 ? [`--user=${await userOf(database)}`] : []; // PgBouncer refuses to run as root
  const leash = spawnServer('bash', ['-c', LEASH, 'leash', ...asAnother, file], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let text = '';
  await new Promise<void>((resolve, reject) => {
    leash.once('exit', () => reject(new Error(`pgbouncer did not start: ${text}`)));
    leash.stderr?.on('data', (chunk: Buffer) => {
      text += String(chunk);
      if (text.includes('process up')) resolve();
      if (text.includes('FATAL')) leash.stdin?.end();
    });
  });
  return {
    url: `postgres://anybody@127.0.0.1:${port}/pooled`,
    stop: async () => {
      leash.stdin?.end();
      await once(leash, 'exit');
      await rm(directory, { recursive: true });
    },
  };
}

/** Only the server's own user may use its socket. */
async function userOf({ url }: TestDatabase): Promise<string> {
  const socketDirectory = new URL(url).searchParams.get('host');
  if (socketDirectory === null) return 'nobody';
  return execFileSync('id', ['-un', String((await stat(socketDirectory)).uid)], { encoding: 'utf8' }).trim();
}

function configurationFor({ url }: TestDatabase, port: number, mode: PoolMode, settings: string): string {
  const { hostname, port: at, pathname, username, password, searchParams } = new URL(url);
  const server = {
    host: searchParams.get('host') ?? hostname,
    port: at,
    dbname: pathname.slice(1),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
  const words = Object.entries(server).map(([name, value]) => `${name}='${value}'`);
  return `
    [databases]
    pooled = ${words.join(' ')}
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = any
    pool_mode = ${mode}
    ${settings}
  `.replaceAll(/^ +/gm, '');
}
