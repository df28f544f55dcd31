import { setTimeout as pause } from 'node:timers/promises';
import type { Arena, Instance } from './arena.js';
import { fillArchive } from './fill.js';
import { Ledger } from './ledger.js';
import type { Target } from './network.js';
import { Peer } from './peer.js';
import { type Person, signUp } from './person.js';
import { User } from './user.js';
import { inTurn } from './turns.js';

const LOOK_EVERY_MS = 100;
/** The check gives up after this time; the promise is 10 s. */
const PATIENCE_MS = 120_000;
/** Greater than the numbers of the ordinary users. */
const FIRST_WITNESS = 1_000;
/** Requests in flight that are the witnesses' own. */
const WITNESSES_OWN = 8;

export interface Recovery {
  readonly ms: number;
  /** The checks that never succeeded, each with its last fault; empty when everything works as before. */
  readonly missing: readonly string[];
}

/** @returns the fault, or '' if there is none */
type Check = () => Promise<string>;

/** One user per instance who checks after a storm that everything works as before. */
export class Witnesses {
  private signIns = 0;

  private constructor(
    private readonly target: Target,
    private readonly instances: readonly Instance[],
    private readonly users: readonly User[],
  ) {}

  static async at({ target, instances, database }: Arena): Promise<Witnesses> {
    const users: User[] = [];
    for (const n of instances.keys()) {
      const person = await signUp(target, 'witness', n);
      const user = new User(target, FIRST_WITNESS + n, person, new Ledger());
      await user.settle();
      await fillArchive(database, user.archiveId);
      await user.mark();
      users.push(user);
    }
    return new Witnesses(target, instances, users);
  }

  /** Retries each check until it succeeds once. No other client may send requests meanwhile. */
  async recovered(): Promise<Recovery> {
    const began = performance.now();
    const checks = this.users.flatMap((user, n) => this.checks(user, inTurn(this.instances, n)));
    const missing: string[] = [];
    await Promise.all(
      checks.map(async ([name, check]) => {
        for (let fault = await check(); fault !== ''; fault = await check()) {
          if (performance.now() - began > PATIENCE_MS) return missing.push(`${name}: ${fault}`);
          await pause(LOOK_EVERY_MS);
        }
        return 0;
      }),
    );
    return { ms: performance.now() - began, missing };
  }

  close(): void {
    for (const user of this.users) user.close();
  }

  private checks(user: User, { metricsUrl }: Instance): [string, Check][] {
    const ok = async (answer: Promise<{ status: number }>): Promise<string> => faultOf((await answer).status);
    const note = Buffer.from(`${Date.now()}`);
    return [
      ['health', () => ok(user.ask('', 'GET', '/health'))],
      ['readiness', () => ok(user.ask('', 'GET', '/health/ready'))],
      ['upload', () => ok(user.put('d2l0bmVzcw', note, 'witness'))],
      ['pull', () => ok(user.pull('witness', 0))],
      ['search', () => ok(user.search())],
      ['manifest', () => ok(user.manifest())],
      ['sign-in', () => this.signIn(user.person)],
      ['idle', () => underWay(metricsUrl)],
    ];
  }

  /** Signs in from an unused address, because a rate limit would not be a fault. */
  private async signIn({ email, password }: Person): Promise<string> {
    const peer = new Peer(this.target, 'witness', 100 + this.signIns++, { isKept: false });
    const headers = { origin: this.target.origin };
    const { status } = await peer.sendJson(
      'POST',
      '/api/auth/sign-in/email',
      { email, password },
      { headers },
    );
    return faultOf(status);
  }
}

const faultOf = (status: number): string => (status === 200 || status === 201 ? '' : `status ${status}`);

/** @returns '' when only the witness's requests are in flight, no statement waits and no socket is left; else the figures */
async function underWay(metricsUrl: string): Promise<string> {
  const text = await fetch(metricsUrl).then(
    (answer) => answer.text(),
    () => '',
  );
  if (!text.includes('cloud_sync_http_requests_in_flight')) return 'no metrics';
  const waiting = /^cloud_sync_database_pool\{state="waiting"\} [1-9].*$/m.exec(text)?.[0];
  const requests = text.match(/^cloud_sync_http_requests_in_flight\b.* [1-9]\d*$/gm) ?? [];
  const sockets = text.match(/^cloud_sync_sockets\{.* [1-9]\d*$/gm) ?? [];
  const count = requests.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  return [...(waiting ? [waiting] : []), ...(count > WITNESSES_OWN ? requests : []), ...sockets].join(', ');
}
