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
const PATIENCE_MS = 60_000;
/** Above the numbers of the ordinary users. */
const FIRST_WITNESS = 1_000;

/** Names of the checks that never succeeded; empty when everything works as before. */
export interface Recovery {
  readonly ms: number;
  readonly missing: readonly string[];
}

/** One user at each instance who checks after a storm that everything works as before. */
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

  /** Retries each check until it succeeds once; nobody else may send requests meanwhile. */
  async recovered(): Promise<Recovery> {
    const began = performance.now();
    const checks = this.users.flatMap((user, n) => this.checks(user, inTurn(this.instances, n)));
    const missing: string[] = [];
    await Promise.all(
      checks.map(async ([name, works]) => {
        while (!(await works())) {
          if (performance.now() - began > PATIENCE_MS) return missing.push(name);
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

  private checks(user: User, instance: Instance): [string, () => Promise<boolean>][] {
    const is = async (answer: Promise<{ status: number }>, status = 200): Promise<boolean> =>
      (await answer).status === status;
    const note = Buffer.from(`${Date.now()}`);
    const put = async (): Promise<boolean> => {
      const { status } = await user.put('d2l0bmVzcw', note, 'witness');
      return status === 200 || status === 201;
    };
    return [
      ['health', () => is(user.ask('', 'GET', '/health'))],
      ['readiness', () => is(user.ask('', 'GET', '/health/ready'))],
      ['upload', put],
      ['pull', () => is(user.pull('witness', 0))],
      ['search', () => is(user.search())],
      ['manifest', () => is(user.manifest())],
      ['sign-in', () => this.signIn(user.person)],
      ['idle', () => isIdle(instance)],
    ];
  }

  /** Signs in from an address that has not been used yet: a rate limit would not be a fault. */
  private async signIn({ email, password }: Person): Promise<boolean> {
    const peer = new Peer(this.target, 'witness', 100 + this.signIns++, { isKept: false });
    const headers = { origin: this.target.origin };
    const { status } = await peer.sendJson(
      'POST',
      '/api/auth/sign-in/email',
      { email, password },
      { headers },
    );
    return status === 200;
  }
}

/** Whether only the witness's own requests are under way, no statement waits, and no socket is left. */
async function isIdle({ metricsUrl }: Instance): Promise<boolean> {
  const text = await fetch(metricsUrl).then(
    (answer) => answer.text(),
    () => '',
  );
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
      (all, [, its]) => all + Number(its),
      0,
    );
  const isTold = text.includes('cloud_sync_http_requests_in_flight');
  const waiting = Number(/^cloud_sync_database_pool\{state="waiting"\} (\S+)$/m.exec(text)?.[1] ?? 0);
  return (
    isTold &&
    waiting === 0 &&
    sum('cloud_sync_http_requests_in_flight') <= 8 &&
    sum('cloud_sync_sockets') === 0
  );
}
