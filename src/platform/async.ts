import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from './clock.js';

/** Counts active work by key, and in total. Keys with a count of zero are removed. */
export class KeyedCounter {
  private readonly counts = new Map<string, number>();
  total = 0;

  get size(): number {
    return this.counts.size;
  }

  of(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  increment(key: string): void {
    this.counts.set(key, this.of(key) + 1);
    this.total++;
  }

  /** @throws Error when the count is zero: more work ended than began */
  decrement(key: string): void {
    const count = this.of(key);
    if (count === 0) throw new Error('a counter was decremented below zero');
    if (count === 1) this.counts.delete(key);
    else this.counts.set(key, count - 1);
    this.total--;
  }

  entries(): IterableIterator<[string, number]> {
    return this.counts.entries();
  }
}

/** Sets an entry as the newest one of a map; beyond `most` entries, the oldest one is dropped. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key); // a Map keeps the position of an existing key
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

const PLACE = Symbol('place');

type Placed<T> = T & { [PLACE]?: number };

/**
 * A set for objects that come and go often; it never retains removed ones. A `Set` discards its table every few entries, and a
 * discarded table may retain its contents until a major garbage collection. An object can be in only one such set at a time.
 * Removing an object during iteration does not skip another.
 */
export class DenseSet<T extends object> implements Iterable<T> {
  private readonly all: Placed<T>[] = [];

  get size(): number {
    return this.all.length;
  }

  has(one: Placed<T>): boolean {
    return this.all[one[PLACE] ?? -1] === one;
  }

  add(one: Placed<T>): void {
    if (!this.has(one)) one[PLACE] = this.all.push(one) - 1;
  }

  /** The last object moves into the free place. */
  delete(one: Placed<T>): void {
    const place = one[PLACE];
    if (place === undefined || !this.has(one)) return;
    const last = this.all.pop() ?? one;
    if (last === one) return;
    this.all[place] = last;
    last[PLACE] = place;
  }

  /** Iterates backwards: an object that moves into a free place has been visited already. */
  *[Symbol.iterator](): Iterator<T> {
    for (let place = this.all.length - 1; place >= 0; place--) {
      const one = this.all[place];
      if (one) yield one;
    }
  }
}

const TURN_MS = 10;

/** For long work in small steps: yields to the event loop after every 10 ms. */
export class EventLoopYield {
  private since: number;

  constructor(private readonly clock: Clock) {
    this.since = clock.elapsed();
  }

  async pause(): Promise<void> {
    if (this.clock.elapsed() - this.since < TURN_MS) return;
    await nextTurn();
    this.since = this.clock.elapsed();
  }
}

/** Returns a function that starts `work`, or joins a run that has not ended. */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}

/**
 * Never runs the same work concurrently, and runs it at most once more for any number of calls during a run. A call resolves
 * after a run that started after the call, so that run has seen everything that was true before the call.
 */
export class CoalescingRunner {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  /** Whether no run is active or pending. */
  get isIdle(): boolean {
    return !this.running && !this.next;
  }

  run(): Promise<void> {
    if (this.next) return this.next;
    if (!this.running) return this.start();
    this.next = this.running.then(
      () => this.start(),
      () => this.start(),
    );
    return this.next;
  }

  private start(): Promise<void> {
    this.next = undefined;
    const run = this.work().finally(() => {
      if (this.running === run) this.running = undefined;
    });
    this.running = run;
    return run;
  }
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches requests from the same iteration of the event loop: under load, requests arrive together, and a round trip to the
 * database costs more than most of the queries.
 */
export class BatchLoader<Ask, Answer> {
  /** Requests of this iteration, by key. Arrays are emptied once answered: the map's discarded tables must not retain answers. */
  private readonly gathering = new Map<string, Waiting<Ask, Answer>[]>();

  /**
   * @param batchSize maximum number of requests in a batch
   * @param answer returns answers in the order of the requests; if it throws, every request of the batch fails with that error
   */
  constructor(
    private readonly batchSize: number,
    private readonly answer: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  /** @param key requests with the same key may be answered together */
  load(key: string, ask: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { ask, resolve, reject };
      const line = this.gathering.get(key);
      if (line) line.push(waiting);
      else this.begin(key, [waiting]);
    });
  }

  private begin(key: string, line: Waiting<Ask, Answer>[]): void {
    this.gathering.set(key, line);
    setImmediate(() => {
      this.gathering.delete(key);
      while (line.length > 0) void this.settle(line.splice(0, this.batchSize));
    });
  }

  private async settle(batch: readonly Waiting<Ask, Answer>[]): Promise<void> {
    try {
      const answers = await this.answer(batch.map(({ ask }) => ask));
      if (answers.length !== batch.length)
        throw new Error(`${answers.length} answers to ${batch.length} asks`);
      batch.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
