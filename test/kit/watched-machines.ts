import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine, type Watch, type WatchEvent } from './command-line.js';
import { startService, type TestService, type TestUser } from './index.js';

const PASSWORD = 'the vault password';
export const running = new Set<Watch>();

/** Starts `watch` and waits for its live connection. */
export async function watching(machine: Machine, ...args: string[]): Promise<Watch> {
  const watch = machine.watch(...args);
  running.add(watch);
  await watch.until(({ event }) => event === 'connected');
  return watch;
}

export async function end(watch: Watch, signal: NodeJS.Signals = 'SIGTERM') {
  running.delete(watch);
  return watch.end(signal);
}

export const carried =
  (direction: 'uploaded' | 'downloaded' | 'removedHere', path: string) =>
  ({ event, ...facts }: WatchEvent): boolean =>
    event === 'synced' && facts[direction]?.includes(path) === true;

/** Call outside of all tests. Machines that `watch`, each test with a user of its own. No step sleeps: each waits for a JSON line or files. */
export function useWatchedMachines(): WatchedMachines {
  const machines = new WatchedMachines();
  beforeAll(() => machines.open());
  afterAll(() => machines.close());
  beforeEach(() => machines.beginTest());
  afterEach(() => machines.endTest());
  return machines;
}

export class WatchedMachines {
  service!: TestService;
  user!: TestUser;
  home!: string;
  users = 0;

  readonly open = async () => {
    this.service = await startService();
  };

  readonly close = () => this.service.close();

  readonly beginTest = async () => {
    this.home = mkdtempSync(join(tmpdir(), 'watch-'));
    this.user = await this.service.user(`watcher${++this.users}`);
  };

  readonly endTest = async () => {
    for (const each of running) await each.end('SIGKILL');
    running.clear();
    rmSync(this.home, { recursive: true, force: true });
  };

  /** Two machines on one new workspace. */
  async pair(url = this.service.url): Promise<{ one: Machine; two: Machine }> {
    const env = { SYNC_URL: url, ACCESS_TOKEN: this.user.token, VAULT_PASSWORD: PASSWORD };
    const [one, two] = [new Machine(join(this.home, 'one'), env), new Machine(join(this.home, 'two'), env)];
    const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
    const workspace = String(made['workspace']);
    const opened = await two.json(['init', two.folder, '--workspace', workspace, '--device', 'two']);
    expect([made.code, opened.code]).toEqual([0, 0]);
    return { one, two };
  }
}
