import { type ChildProcess, execFileSync, spawn, spawnSync, type SpawnOptions } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

import { ROOT } from './deployment.js';

const DIST = process.env['DIST_ROOT'] ?? join(ROOT, 'dist');
export const MODULES = join(ROOT, 'node_modules');
const DATABASE = 'src/platform/database/embedded';
/** The parts of the configuration that the database imports: all of it would load half of the libraries. */
const CONFIGURATION = ['operator-error', 'data-dir-files'];
const FIXTURE = join(ROOT, 'test/kit/embedded-service.mjs');
export const IS_ROOT = process.geteuid?.() === 0;
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
export async function until<T>(what: string, find: () => T | Promise<T>): Promise<NonNullable<T>> {
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

export function processes(): ProcessRow[] {
  const rows = execFileSync('ps', ['-axo', 'pid=,ppid=,stat=,command=']).toString().trim().split('\n');
  return rows.map((row) => {
    const [, pid = '', parent = '', state = '', command = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(row) ?? [];
    return { pid: Number(pid), parent: Number(parent), state, command };
  });
}

/** Called often, so it lists only this process. */
export function isAlive(pid: number): boolean {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)])
    .stdout.toString()
    .trim();
  return state !== '' && !state.startsWith('Z');
}

type Start = (args: string[], options: SpawnOptions) => ChildProcess;

const asThisUser: Start = (args, options) => spawn(process.execPath, args, options);

/** As nobody when the tests run as root, with a capability to read a clone in a private directory. */
export const asOrdinaryUser: Start = (args, options) => {
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

export function nobody(): { uid: number; gid: number } {
  const [uid, gid] = ['-u', '-g'].map((which) => Number(execFileSync('id', [which, 'nobody']).toString()));
  return { uid: uid!, gid: gid! };
}

/** A process of the fixture, which waits for `go()`. */
export class EmbeddedService {
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

const started: EmbeddedService[] = [];
const directories: string[] = [];

export function temporaryDirectory(): string {
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
export function copyDatabase(root: string): void {
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  const configuration = join(root, 'dist/src/platform/config');
  cpSync(join(DIST, DATABASE), join(root, 'dist', DATABASE), { recursive: true });
  cpSync(join(DIST, 'src/platform/config'), configuration, { recursive: true });
  const lines = readFileSync(join(configuration, 'index.js'), 'utf8').split('\n');
  const taken = lines.filter((line) => CONFIGURATION.some((file) => line.includes(`'./${file}.js'`)));
  writeFileSync(join(configuration, 'index.js'), taken.join('\n'));
}

export const freshDataDir = (): string => join(temporaryDirectory(), 'data');

let made: string | undefined;

/** A copy of a data directory that a service has used, which saves creating a database. */
export async function usedDataDir(): Promise<string> {
  if (made === undefined) {
    const first = await running(freshDataDir());
    expect(await first.stop()).toBe(0);
    made = first.dataDir;
  }
  const copy = freshDataDir();
  execFileSync('cp', ['-a', made, copy]);
  return copy;
}

export const serve = (dataDir: string, options = {}): EmbeddedService =>
  new EmbeddedService('serve', dataDir, options).go();

export async function running(dataDir: string, options = {}): Promise<EmbeddedService> {
  const service = serve(dataDir, options);
  await service.event('ready');
  return service;
}

/** Writes a row that a later life of the database must still have. */
export async function note(service: EmbeddedService, text: string): Promise<void> {
  await service.query(`CREATE TABLE IF NOT EXISTS notes (text text); INSERT INTO notes VALUES ('${text}')`);
}

export async function notes(service: EmbeddedService): Promise<unknown[]> {
  return (await service.query('SELECT text FROM notes ORDER BY text')).map(({ text }) => text);
}

export async function refusal(service: EmbeddedService): Promise<string> {
  const { message } = await service.event('refused');
  const { name } = service.events.find(({ event }) => event === 'refused') as unknown as { name: string };
  expect(name).toBe('OperatorError');
  expect(message).toMatch(/^[^\n]*[^\n.]\.$/);
  expect(await service.ended).toBe(1);
  return message;
}

/** Call outside of all tests: the services of a test end with it, and the directories with the file. */
export function useEmbeddedServices(): void {
  afterEach(async () => {
    for (const service of started.splice(0)) await service.kill9();
  });

  afterAll(async () => {
    await until('an end of all servers', () => {
      const rows = processes();
      return !directories.some((directory) => rows.some(({ command }) => command.includes(directory)));
    });
    for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
    alone = made = undefined; // the next test file may use this module
  });
}
