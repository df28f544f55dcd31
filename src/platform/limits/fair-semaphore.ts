import { Injectable } from '@nestjs/common';
import { ServiceUnavailable } from '../http/index.js';
import { Metrics } from '../metrics.js';

/** Limits of one queue: for all owners together, and per owner. */
export interface FairLimits {
  readonly atOnce: number;
  readonly waiting: number;
  readonly perOwner: {
    readonly atOnce: number;
    readonly waiting: number;
  };
  readonly waitMs: number;
  /** The error message for a call that cannot wait or has waited too long. */
  readonly busy: string;
}

const RETRY_AFTER_S = 5;

/** Appended to `busy` if the caller's own calls fill the queue. */
const OWN_CALLS = ': wait for your own requests to finish';

interface Call {
  readonly start: () => void;
  readonly refuse: () => void;
}

/** The calls of one owner. Stays in the queue's map while either of the two is non-empty. */
interface Share {
  running: number;
  readonly waiting: Call[];
}

/**
 * A semaphore that is fair between owners, usually users: a free slot goes to the waiting owner with the fewest slots, round
 * robin between equals, and first come, first served within an owner. An owner with a thousand calls therefore delays another
 * one by no more than the calls that already run. There is a limit per owner and for all owners together, beyond which a call
 * fails immediately. A full queue makes room for an owner with fewer waiting calls: the newest call of the owner with the most
 * waiting calls is refused instead.
 */
export class FairSemaphore {
  /** The number of calls that hold a slot. */
  taken = 0;
  /** The number of calls that wait for a slot. */
  queued = 0;
  /** In the order of their turns: an owner moves to the end when one of its calls starts or ends. */
  private readonly shares = new Map<string, Share>();

  constructor(private readonly limits: FairLimits) {}

  get owners(): number {
    return this.shares.size;
  }

  /**
   * Resolves with a function that releases the slot; calling it again does nothing.
   * @param owner the owner whose limit applies
   * @param gone aborts the wait
   * @throws ServiceUnavailable when too many calls wait or no slot becomes free in time; the reason of `gone`
   */
  async take(owner: string, gone?: AbortSignal): Promise<() => void> {
    gone?.throwIfAborted();
    const share = this.shares.get(owner) ?? { running: 0, waiting: [] };
    this.shares.set(owner, share);
    if (this.taken < this.limits.atOnce && this.mayRun(share)) this.start(owner, share);
    else await this.turn(owner, share, gone);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.release(owner, share);
    };
  }

  /**
   * Runs `work` while holding a slot.
   * @throws as `take`
   */
  async during<T>(owner: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
    const release = await this.take(owner, gone);
    try {
      return await work();
    } finally {
      release();
    }
  }

  private mayRun({ running }: Share): boolean {
    return running < this.limits.perOwner.atOnce;
  }

  private start(owner: string, share: Share): void {
    share.running++;
    this.taken++;
    this.moveToEnd(owner, share);
  }

  private release(owner: string, share: Share): void {
    share.running--;
    this.taken--;
    this.moveToEnd(owner, share);
    this.next();
  }

  /** Moves an owner to the end of the round; removes an owner without calls. */
  private moveToEnd(owner: string, share: Share): void {
    this.shares.delete(owner);
    if (share.running > 0 || share.waiting.length > 0) this.shares.set(owner, share);
  }

  private next(): void {
    let chosen: [string, Share] | undefined;
    for (const entry of this.shares) {
      const [, share] = entry;
      if (share.waiting.length === 0 || !this.mayRun(share)) continue;
      if (!chosen || share.running < chosen[1].running) chosen = entry;
    }
    if (!chosen) return;
    const [owner, share] = chosen;
    const call = share.waiting.shift();
    this.start(owner, share);
    call?.start();
  }

  private turn(owner: string, share: Share, gone?: AbortSignal): Promise<void> {
    this.makeRoomFor(owner, share);
    const { waitMs, busy } = this.limits;
    this.queued++;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.queued--;
        clearTimeout(timer);
        gone?.removeEventListener('abort', abort);
      };
      const leave = (error: Error): void => {
        over();
        share.waiting.splice(share.waiting.indexOf(call), 1);
        this.forgetIdle(owner, share);
        reject(error);
      };
      const abort = (): void => leave(gone?.reason as Error);
      const call: Call = {
        start: () => {
          over();
          resolve();
        },
        refuse: () => leave(this.refusal(OWN_CALLS)),
      };
      const timer = setTimeout(() => leave(new ServiceUnavailable(busy, RETRY_AFTER_S)), waitMs);
      gone?.addEventListener('abort', abort);
      share.waiting.push(call);
    });
  }

  /** @throws ServiceUnavailable when there is no room for another call of this owner */
  private makeRoomFor(owner: string, share: Share): void {
    const { waiting, perOwner } = this.limits;
    const count = share.waiting.length;
    if (count < perOwner.waiting && this.queued < waiting) return;
    let most = share;
    for (const other of this.shares.values()) if (other.waiting.length > most.waiting.length) most = other;
    const newest = most.waiting.at(-1);
    if (count < perOwner.waiting && newest && most.waiting.length > count + 1) {
      newest.refuse();
      return;
    }
    this.forgetIdle(owner, share);
    throw this.refusal(count >= perOwner.waiting ? OWN_CALLS : '');
  }

  private refusal(reason: string): ServiceUnavailable {
    return new ServiceUnavailable(`${this.limits.busy}${reason}`, RETRY_AFTER_S);
  }

  private forgetIdle(owner: string, share: Share): void {
    if (share.running === 0 && share.waiting.length === 0) this.shares.delete(owner);
  }
}

/** The queues of this instance. docs/operate/limits.md lists all of them with their limits. */
@Injectable()
export class Queues {
  private readonly waiting = new Map<string, () => number>();

  constructor(metrics: Metrics) {
    const help = 'Calls that wait in a queue, by queue';
    metrics.gauge('cloud_sync_waiting', help, ['queue'], () =>
      [...this.waiting].map(([queue, count]) => ({ labels: { queue }, value: count() })),
    );
  }

  counts(): ReadonlyMap<string, number> {
    return new Map([...this.waiting].map(([queue, count]) => [queue, count()]));
  }

  /**
   * Creates a queue that is fair between owners.
   * @param queue its name in the metrics
   */
  open(queue: string, limits: FairLimits): FairSemaphore {
    const semaphore = new FairSemaphore(limits);
    this.watch(queue, () => semaphore.queued);
    return semaphore;
  }

  /**
   * Adds a queue of another kind to the metrics.
   * @param count returns the number of waiting calls
   */
  watch(queue: string, count: () => number): void {
    this.waiting.set(queue, count);
  }
}
