import { Machines } from './cli-machines.js';
import type { Machine, Watch, WatchEvent } from './command-line.js';
import { startService } from './index.js';
import { useInTests } from './use-in-tests.js';

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
export const useWatchedMachines = (): WatchedMachines => useInTests(new WatchedMachines());

export class WatchedMachines extends Machines {
  /** At the base URL of all tests, so that another instance can take its users over. */
  override async open(): Promise<void> {
    this.service = await startService();
  }

  override async endTest(): Promise<void> {
    for (const each of running) await each.end('SIGKILL');
    running.clear();
    await super.endTest();
  }
}
