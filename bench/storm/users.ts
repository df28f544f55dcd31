// The process that plays the ordinary users.
import { Device } from './device.js';
import { Ledger, type Report } from './ledger.js';
import type { Target } from './network.js';
import { signUp } from './person.js';
import { User } from './user.js';
import { verify } from './verify.js';
import { serve } from './worker.js';

const DEVICES_EACH = 2;

const ledger = new Ledger();
let users: User[] = [];
let devices: Device[] = [];
let running: Promise<unknown> = Promise.resolve();

/** Signs up `count` users, each with workspaces. @returns the archives, which must be filled before `mark` */
async function settle({ target, count }: { target: Target; count: number }): Promise<string[]> {
  users = [];
  // Sign-ups run one at a time, because concurrent password hashes are limited. The rest runs in parallel.
  const settling: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    const user = new User(target, n, await signUp(target, 'user', n), ledger);
    users.push(user);
    settling.push(user.settle());
  }
  await Promise.all(settling);
  return users.map(({ archiveId }) => archiveId);
}

async function mark(): Promise<void> {
  await Promise.all(users.map((user) => user.mark()));
}

function start(): void {
  devices = users.flatMap((user) =>
    Array.from({ length: DEVICES_EACH }, (_, index) => new Device(user, index)),
  );
  running = Promise.all(devices.map((device) => device.run()));
  running.catch(() => undefined); // `stop` reports the error
}

/** @throws the error of a device that received wrong data */
async function stop(): Promise<Report> {
  for (const device of devices) device.end();
  await running;
  return ledger.enter('over');
}

interface Verified {
  readonly faults: string[];
  /** One workspace per user, with a JWT for it. */
  readonly workspaces: { id: string; token: string }[];
}

async function verified(): Promise<Verified> {
  const faults: string[] = [];
  for (const user of users) {
    faults.push(...(await verify(user)).map((fault) => `${user.person.email}: ${fault}`));
  }
  return { faults, workspaces: users.map(({ workspaceId, bearer }) => ({ id: workspaceId, token: bearer })) };
}

serve({ settle, mark, start, stop, verify: verified, enter: (phase: string) => ledger.enter(phase) });
