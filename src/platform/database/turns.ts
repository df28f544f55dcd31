import { requestScope } from '../log/index.js';

/** A statement that has waited so long goes all the same, if a connection is free: those at work are slow. */
const PATIENCE_MS = 50;
/** As long as the pool itself would wait for a connection. */
const LONGEST_WAIT_MS = 5_000;

/** Begins as the pool's own error, so that it counts as one: nothing was sent, and a retry may succeed. */
const NO_CONNECTION = 'timeout exceeded when trying to connect: all connections are in use';

/** What the service does of its own accord counts as one more client. */
const SERVICE = 'service';

export interface TurnLimits {
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
 * users or addresses, go round robin: a client with hundreds of statements delays another by one of them for each connection.
 *
 * So many statements are at work at once. The others wait, but not for long: that spares a machine, and is no limit to
 * rely on. Transactions wait for a connection alone. What a statement has returned is told after the next one has been
 * sent, where a connection is idle: the database is then at work while the answer is used.
 */
export class Turns {
  private readonly atOnce: number;
  private readonly connections: number;
  private readonly patienceMs: number;
  private statements = 0;
  private transactions = 0;
  /** Of the waiter that went last. */
  private round = 0;
  /** By round, then by arrival. An array: a map of waiters would keep them from being collected young. */
  private readonly line: Waiter[] = [];

  constructor({ atOnce, connections = Infinity, patienceMs = PATIENCE_MS }: TurnLimits) {
    this.atOnce = atOnce;
    this.connections = connections;
    this.patienceMs = patienceMs;
  }

  get waiting(): number {
    return this.line.length;
  }

  /** Runs a single statement in its turn. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.mayGo(true, false)) this.statements++;
    else await this.turn(true);
    try {
      return await work();
    } finally {
      this.statements--;
      if (this.callNext()) await untilSent();
    }
  }

  /** Runs a transaction, which has a connection until its end. Its own statements take no turns: others wait for its locks. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    if (this.mayGo(false, true)) this.transactions++;
    else await this.turn(false);
    try {
      return await work();
    } finally {
      this.transactions--;
      this.callNext();
    }
  }

  private mayGo(isStatement: boolean, isUrgent: boolean): boolean {
    if (this.statements + this.transactions >= this.connections) return false;
    return !isStatement || isUrgent || this.statements < this.atOnce;
  }

  private turn(isStatement: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const isUrgent = !isStatement || this.atOnce >= this.connections;
      const start = (): void => {
        timer.stop();
        if (isStatement) this.statements++;
        else this.transactions++;
        resolve();
      };
      const waiter = this.enqueue({ isStatement, isUrgent, start });
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
  private enqueue(waiting: Omit<Waiter, 'client' | 'round'>): Waiter {
    const client = currentClient();
    const own = this.line.findLast((one) => one.client === client);
    const round = Math.max(this.round, own?.round ?? 0) + 1;
    const waiter = { client, round, ...waiting };
    this.line.splice(this.line.findLastIndex((one) => one.round <= round) + 1, 0, waiter);
    return waiter;
  }

  private callNext(): boolean {
    const at = this.line.findIndex(({ isStatement, isUrgent }) => this.mayGo(isStatement, isUrgent));
    const next = this.line[at];
    if (!next) return false;
    this.line.splice(at, 1);
    this.round = Math.max(this.round, next.round);
    next.start();
    return true;
  }
}

function currentClient(): string {
  const scope = requestScope.getStore();
  return scope ? (scope.userId ?? scope.ip) : SERVICE;
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
