import { ServiceUnavailable } from '../http/index.js';

/** Bounds of one queue: for all owners together, and for each of them. */
export interface FairLimits {
  readonly atOnce: number;
  /** How many may wait for a slot. */
  readonly waiting: number;
  readonly perOwner: {
    readonly atOnce: number;
    readonly waiting: number;
  };
  readonly waitMs: number;
  /** The error of a caller that cannot wait, or has waited for too long. */
  readonly busy: string;
}

const RETRY_AFTER_S = 5;

/** What one owner has in the queue. It is in the queue's map as long as one of the two is not empty. */
interface Share {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * A semaphore that is fair between owners, who are mostly users: a slot that becomes free goes to the owner whose turn it is, round
 * robin, and among the calls of one owner to the first. So an owner with a thousand calls delays another one by no
 * more than one call per slot. Both an owner and all of them together have a bound, beyond which a call fails at once.
 */
export class FairSemaphore {
  private running = 0;
  private waiting = 0;
  /** In the order of their turns: an owner that gets a slot from the queue goes to the end. */
  private readonly shares = new Map<string, Share>();

  constructor(private readonly limits: FairLimits) {}

  /** How many calls wait for a slot. */
  get queued(): number {
    return this.waiting;
  }

  /** How many owners have a slot, or wait for one. */
  get owners(): number {
    return this.shares.size;
  }

  /**
   * Resolves with a function that releases the slot; calling it again does nothing.
   * @param owner whose share the call counts against
   * @param gone ends the wait
   * @throws ServiceUnavailable when too many wait or none becomes free in time, and the reason of `gone`
   */
  async take(owner: string, gone?: AbortSignal): Promise<() => void> {
    gone?.throwIfAborted();
    const share = this.shares.get(owner) ?? { running: 0, waiting: [] };
    this.shares.set(owner, share);
    if (this.running < this.limits.atOnce && this.mayRun(share)) this.start(share);
    else await this.turn(owner, share, gone);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      share.running--;
      this.running--;
      this.next();
      this.forgetIdle(owner, share);
    };
  }

  /** Runs `work` with a slot. @throws as take */
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

  private start(share: Share): void {
    share.running++;
    this.running++;
  }

  /** Starts the call whose turn it is, if any may run. */
  private next(): void {
    if (this.running >= this.limits.atOnce) return;
    for (const [owner, share] of this.shares) {
      if (!this.mayRun(share)) continue;
      const go = share.waiting.shift();
      if (!go) continue;
      this.shares.delete(owner);
      this.shares.set(owner, share);
      this.start(share);
      go();
      return;
    }
  }

  private forgetIdle(owner: string, share: Share): void {
    if (share.running === 0 && share.waiting.length === 0 && this.shares.get(owner) === share)
      this.shares.delete(owner);
  }

  private turn(owner: string, share: Share, gone?: AbortSignal): Promise<void> {
    const { waiting, perOwner, waitMs, busy } = this.limits;
    if (this.waiting >= waiting || share.waiting.length >= perOwner.waiting) {
      this.forgetIdle(owner, share);
      throw new ServiceUnavailable(busy, RETRY_AFTER_S);
    }
    this.waiting++;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.waiting--;
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
      };
      const go = (): void => {
        over();
        resolve();
      };
      const leave = (): void => {
        over();
        share.waiting.splice(share.waiting.indexOf(go), 1);
        this.forgetIdle(owner, share);
        reject(gone?.aborted ? (gone.reason as Error) : new ServiceUnavailable(busy, RETRY_AFTER_S));
      };
      const timer = setTimeout(leave, waitMs);
      gone?.addEventListener('abort', leave);
      share.waiting.push(go);
    });
  }
}
