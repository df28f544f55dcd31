import { ServiceUnavailable } from '../http/index.js';

export interface SlotLimits {
  readonly atOnce: number;
  /** How many may wait for a slot. */
  readonly waiting: number;
  readonly waitMs: number;
  /** What the one who cannot wait is told. */
  readonly busy: string;
}

const RETRY_AFTER_S = 5;

/**
 * Limits how many run at once, for what costs much time or memory. So many others wait in turn, and not for ever:
 * then it is 503.
 */
export class Semaphore {
  private taken = 0;
  private readonly queue: (() => void)[] = [];

  constructor(private readonly limits: SlotLimits) {}

  /**
   * Resolves with what releases the place; to call that again does nothing.
   * @param gone ends the wait @throws ServiceUnavailable, and the reason of `gone`
   */
  async take(gone?: AbortSignal): Promise<() => void> {
    if (this.taken < this.limits.atOnce) this.taken++;
    else await this.turn(gone);
    let isHeld = true;
    return () => {
      if (isHeld) this.handOn();
      isHeld = false;
    };
  }

  /** Does work with a slot. @throws as take */
  async during<T>(work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
    const giveBack = await this.take(gone);
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  /** A slot that is given back goes to the first who waits, so nobody overtakes. */
  private handOn(): void {
    const next = this.queue.shift();
    if (next) next();
    else this.taken--;
  }

  private turn(gone?: AbortSignal): Promise<void> {
    const { waiting, waitMs, busy } = this.limits;
    gone?.throwIfAborted();
    if (this.queue.length >= waiting) throw new ServiceUnavailable(busy, RETRY_AFTER_S);
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
      };
      const go = (): void => {
        over();
        resolve();
      };
      const leave = (): void => {
        over();
        this.queue.splice(this.queue.indexOf(go), 1);
        reject(gone?.aborted ? (gone.reason as Error) : new ServiceUnavailable(busy, RETRY_AFTER_S));
      };
      const timer = setTimeout(leave, waitMs);
      gone?.addEventListener('abort', leave);
      this.queue.push(go);
    });
  }
}
