import { KeyedCounter } from '../async/index.js';
import { requestScope } from '../log/index.js';

/** A statement that has waited so long goes all the same, if a connection is free: those at work are slow. */
const PATIENCE_MS = 50;
/** As long as the pool itself would wait for a connection. */
const LONGEST_WAIT_MS = 5_000;

/** A user who has asked for something so recently counts as being here. */
const LATELY_MS = 1_000;

/** Begins as the pool's own error, so that it counts as one: nothing was sent, and a retry may succeed. */
const NO_CONNECTION = 'timeout exceeded when trying to connect: all connections are in use';

/** What the service does of its own accord counts as one more client. */
const SERVICE = 'service';

export interface StatementLimits {
  /** Statements at work. */
  readonly atOnce: number;
  /** Statements and transactions together: the size of the pool. */
  readonly connections?: number;
  readonly patienceMs?: number;
}

interface Waiter {
  readonly client: string;
  /** Goes before all of later rounds. A client has one waiter in each. */
  readonly round: number;
  readonly isStatement: boolean;
  /** Whether it goes as soon as a connection is free, however many statements are at work. */
  isUrgent: boolean;
  readonly start: () => void;
}

/**
 * Decides who works with the database next, before the pool is asked, which serves in the order of arrival. Clients, who are
 * users or networks, go round robin: a client with hundreds of statements delays another by one of them for each connection.
 *
 * So many statements are at work at once, and of one client fewer, so that a client with long ones leaves room. The others
 * wait, but not for long: that spares a machine, and only a client's own limit is one to rely on. Transactions wait for a connection alone. What a statement has returned is told after the next one has been
 * sent, where a connection is idle: the database is then at work while the answer is used.
 */
export class StatementLimiter {
  private readonly atOnce: number;
  private readonly connections: number;
  private readonly patienceMs: number;
  /** Statements of one client at once: while no other user has asked for anything lately, and else. */
  private readonly ofOne: { readonly alone: number; readonly beside: number };
  private readonly transactionsOfOne: number;
  private readonly lately = new RecentUsers();
  private readonly statements = new KeyedCounter();
  private readonly transactions = new KeyedCounter();
  /** Of the waiter that went last. */
  private round = 0;
  /** By round, then by arrival. An array: a map of waiters would keep them from being collected young. */
  private readonly line: Waiter[] = [];

  constructor({ atOnce, connections = Infinity, patienceMs = PATIENCE_MS }: StatementLimits) {
    this.atOnce = atOnce;
    this.connections = connections;
    this.patienceMs = patienceMs;
    const half = atLeastOne(connections / 2);
    this.ofOne = {
      alone: atLeastOne(Math.min(atOnce, connections) - 1),
      beside: atLeastOne(Math.min((atOnce - 1) / 2, half)),
    };
    this.transactionsOfOne = half;
  }

  get waiting(): number {
    return this.line.length;
  }

  /** Runs a single statement in its turn. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const client = currentClient();
    this.lately.note(requestScope.getStore()?.userId);
    if (this.mayGo(client, true, false)) this.statements.increment(client);
    else await this.turn(client, true);
    try {
      return await work();
    } finally {
      this.statements.decrement(client);
      if (this.callNext()) await untilSent();
    }
  }

  /** Runs a transaction, which has a connection until its end. Its own statements take no turns: others wait for its locks. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    const client = currentClient();
    if (this.mayGo(client, false, true)) this.transactions.increment(client);
    else await this.turn(client, false);
    try {
      return await work();
    } finally {
      this.transactions.decrement(client);
      this.callNext();
    }
  }

  private mayGo(client: string, isStatement: boolean, isUrgent: boolean): boolean {
    if (this.statements.total + this.transactions.total >= this.connections) return false;
    if (isStatement && !isUrgent && this.statements.total >= this.atOnce) return false;
    if (client === SERVICE) return true;
    const connectionsOfOne = this.statements.of(client) + this.transactions.of(client);
    if (connectionsOfOne >= atLeastOne(this.connections - 1)) return false;
    if (!isStatement) return this.transactions.of(client) < this.transactionsOfOne;
    return this.statements.of(client) < this.ofOne[this.lately.isAlone(client) ? 'alone' : 'beside'];
  }

  private turn(client: string, isStatement: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const isUrgent = !isStatement || this.atOnce >= this.connections;
      const start = (): void => {
        timer.stop();
        (isStatement ? this.statements : this.transactions).increment(client);
        resolve();
      };
      const waiter = this.enqueue({ client, isStatement, isUrgent, start });
      const giveUp = (): void => {
        this.line.splice(this.line.indexOf(waiter), 1);
        reject(new Error(NO_CONNECTION));
      };
      const hurry = (): void => {
        waiter.isUrgent = true;
        timer = after(LONGEST_WAIT_MS, giveUp);
        this.callNext();
      };
      let timer = isUrgent ? after(LONGEST_WAIT_MS, giveUp) : after(this.patienceMs, hurry);
    });
  }

  /** A client's waiters come one in each round; the first of them in the round after the present one. */
  private enqueue(waiting: Omit<Waiter, 'round'>): Waiter {
    const own = this.line.findLast(({ client }) => client === waiting.client);
    const round = Math.max(this.round, own?.round ?? 0) + 1;
    const waiter = { round, ...waiting };
    this.line.splice(this.line.findLastIndex((one) => one.round <= round) + 1, 0, waiter);
    return waiter;
  }

  /** Whether there was one to start. */
  private callNext(): boolean {
    let hasCalled = false;
    while (this.callOne()) hasCalled = true;
    return hasCalled;
  }

  private callOne(): boolean {
    const at = this.line.findIndex(({ client, isStatement, isUrgent }) =>
      this.mayGo(client, isStatement, isUrgent),
    );
    const next = this.line[at];
    if (!next) return false;
    this.line.splice(at, 1);
    this.round = Math.max(this.round, next.round);
    next.start();
    return true;
  }
}

/** Which users have asked for something lately, as far as it takes to tell whether a client is alone. */
class RecentUsers {
  private latest = { client: '', at: -Infinity };
  private before = this.latest;

  /** Nothing is noted of a network: it may be that of a user who is not known yet. */
  note(userId: string | undefined): void {
    if (userId === undefined) return;
    if (userId !== this.latest.client) this.before = this.latest;
    this.latest = { client: userId, at: performance.now() };
  }

  isAlone(client: string): boolean {
    const { at } = client === this.latest.client ? this.before : this.latest;
    return performance.now() - at > LATELY_MS;
  }
}

const atLeastOne = (count: number): number => Math.max(1, Math.floor(count));

function currentClient(): string {
  const scope = requestScope.getStore();
  return scope ? (scope.userId ?? scope.network) : SERVICE;
}

/** After a pause of the process the timers of all come due before it has read a single answer: then they wait once more. */
function after(ms: number, then: () => void): { readonly stop: () => void } {
  let since = performance.now();
  const due = (): void => {
    if (performance.now() - since < 2 * ms) {
      then();
      return;
    }
    since = performance.now();
    timer = setTimeout(due, ms);
  };
  let timer = setTimeout(due, ms);
  return { stop: () => clearTimeout(timer) };
}

/** The pool sends a statement in a tick of its own. Between such ticks no promise goes on. */
const untilSent = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
