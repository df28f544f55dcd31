import { KeyedCounter } from '../async.js';
import { clientInScope, requestScope } from '../log.js';

/** A statement that has waited this long may start beyond the limit if a connection is free: the active statements are slow. */
const PATIENCE_MS = 50;
/** As long as the pool itself would wait for a connection. */
const LONGEST_WAIT_MS = 5_000;

/** A user with a request within this time counts as active. */
const LATELY_MS = 1_000;

/** Starts with the text of the pool's own error, so that it is classified the same: nothing was sent, and a retry may succeed. */
const NO_CONNECTION = 'timeout exceeded when trying to connect: all connections are in use';

/** The service's own work counts as one more client. */
const SERVICE = 'service';

export interface StatementLimits {
  /** Maximum number of concurrent statements. */
  readonly atOnce: number;
  /** Maximum number of statements and transactions together: the size of the pool. */
  readonly connections?: number;
  readonly patienceMs?: number;
}

interface Waiter {
  readonly client: string;
  /** Waiters of earlier rounds start first. A client has one waiter per round. */
  readonly round: number;
  readonly isStatement: boolean;
  /** Whether it starts as soon as a connection is free, regardless of the number of active statements. */
  isUrgent: boolean;
  readonly start: () => void;
}

/**
 * Schedules access to the database ahead of the pool, which serves in order of arrival. Clients (users or networks) are served
 * round robin: a client with hundreds of statements delays another client by one statement per connection.
 *
 * The number of concurrent statements is limited, more strictly for a single client, so that a client with slow statements leaves
 * room for others. After a short wait, a statement may exceed the overall limit, which only saves resources of the machine; the
 * limit per client always holds. Transactions wait only for a connection.
 *
 * On a distributed database, a slow or unresponsive node occupies at most half of the connections.
 */
export class StatementLimiter {
  private readonly atOnce: number;
  private readonly connections: number;
  private readonly patienceMs: number;
  /** Concurrent statements of one client: while no other user was recently active, and otherwise. */
  private readonly ofOne: { readonly alone: number; readonly beside: number };
  private readonly transactionsOfOne: number;
  private readonly lately = new RecentUsers();
  private readonly statements = new KeyedCounter();
  private readonly transactions = new KeyedCounter();
  /** Round of the waiter that started last. */
  private round = 0;
  /** By round, then by arrival. An array: a map would keep waiters from being collected in the young generation. */
  private readonly line: Waiter[] = [];
  /** By node: statements for one node get half of the connections, and otherwise wait in a separate queue. */
  private readonly shares = new Map<string, StatementLimiter>();

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
    let waiting = this.line.length;
    for (const share of this.shares.values()) waiting += share.waiting;
    return waiting;
  }

  /**
   * Runs a single statement when it is its turn.
   * @param node the node of the statement, in whose queue it waits first; none on a single server
   */
  run<T>(work: () => Promise<T>, node?: string): Promise<T> {
    if (node) return this.shareOf(node).run(() => this.run(work));
    this.lately.note(requestScope.getStore()?.userId);
    return this.inTurn(work, true);
  }

  /**
   * Runs a transaction, which keeps a connection until its end. Its statements do not queue, because others may wait for its
   * locks.
   * @param node as for `run`
   */
  transaction<T>(work: () => Promise<T>, node?: string): Promise<T> {
    if (node) return this.shareOf(node).transaction(() => this.transaction(work));
    return this.inTurn(work, false);
  }

  private async inTurn<T>(work: () => Promise<T>, isStatement: boolean): Promise<T> {
    const client = currentClient();
    const counts = isStatement ? this.statements : this.transactions;
    if (this.mayGo(client, isStatement, !isStatement)) counts.increment(client);
    else await this.turn(client, isStatement);
    try {
      return await work();
    } finally {
      counts.decrement(client);
      this.callNext();
    }
  }

  private shareOf(node: string): StatementLimiter {
    const known = this.shares.get(node);
    if (known) return known;
    const half = atLeastOne(this.connections / 2);
    const share = new StatementLimiter({ atOnce: half, connections: half });
    this.shares.set(node, share);
    return share;
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

  /** A client's waiters get one round each; the first one gets the round after the current one. */
  private enqueue(waiting: Omit<Waiter, 'round'>): Waiter {
    const own = this.line.findLast(({ client }) => client === waiting.client);
    const round = Math.max(this.round, own?.round ?? 0) + 1;
    const waiter = { round, ...waiting };
    this.line.splice(this.line.findLastIndex((one) => one.round <= round) + 1, 0, waiter);
    return waiter;
  }

  private callNext(): void {
    while (this.callOne());
  }

  /** Starts the next waiter that may start. Returns whether there was one. */
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

/** Records which users were recently active, as far as needed to tell whether a client is alone. */
class RecentUsers {
  private latest = { client: '', at: -Infinity };
  private before = this.latest;

  /** Networks are not recorded: one may belong to a user who is not known yet. */
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

const currentClient = (): string => clientInScope() ?? SERVICE;

/** After a pause of the process, all timers fire before it has read a single answer; in that case they wait once more. */
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
