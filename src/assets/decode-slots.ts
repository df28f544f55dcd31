import { ServiceUnavailable } from '../platform/http/index.js';

interface Limits {
  readonly atOnce: number;
  readonly waiting: number;
  readonly waitMs: number;
}

const LIMITS: Limits = { atOnce: 4, waiting: 256, waitMs: 10_000 };

/**
 * So many uploads are decoded at a time, each a piece at a time: between two pieces an upload holds no slot, so that a
 * slow client keeps nobody waiting. The rest wait in turn, and their clients with them, for the bytes are not read.
 */
export class DecodeSlots {
  private taken = 0;
  private readonly queue: (() => void)[] = [];

  constructor(private readonly limits = LIMITS) {}

  /** Resolves with what gives the slot back. @throws ServiceUnavailable when too many wait, or this one has for too long */
  async take(): Promise<() => void> {
    if (this.taken < this.limits.atOnce) this.taken++;
    else await this.turn();
    let isHeld = true;
    return () => {
      if (isHeld) this.handOn();
      isHeld = false;
    };
  }

  /** A slot that is given back goes to the first who waits, so nobody overtakes. */
  private handOn(): void {
    const next = this.queue.shift();
    if (next) next();
    else this.taken--;
  }

  private turn(): Promise<void> {
    if (this.queue.length >= this.limits.waiting) throw busy();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.queue.splice(this.queue.indexOf(go), 1);
        reject(busy());
      }, this.limits.waitMs);
      const go = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.queue.push(go);
    });
  }
}

function busy(): ServiceUnavailable {
  return new ServiceUnavailable('too many assets are being uploaded', 5);
}
