/** Why a sync is due. */
export type Reason = 'start' | 'files' | 'server' | 'connected' | 'interval' | 'wake' | 'retry';

/** After a reason, how long to wait for more of the same, and the longest wait overall. */
const QUIET: Readonly<Record<Reason, { readonly quietMs: number; readonly mostMs: number }>> = {
  start: { quietMs: 0, mostMs: 0 },
  files: { quietMs: 300, mostMs: 3_000 },
  server: { quietMs: 100, mostMs: 1_000 },
  connected: { quietMs: 0, mostMs: 0 },
  interval: { quietMs: 0, mostMs: 0 },
  wake: { quietMs: 0, mostMs: 0 },
  retry: { quietMs: 0, mostMs: 0 },
};

/** Only these end the pause after a failure: edits do not bring the service back. */
const ENDS_PAUSE: ReadonlySet<Reason> = new Set(['connected', 'wake', 'retry']);

interface Pending {
  readonly first: number;
  last: number;
}

/** Collects the reasons for a sync, and decides when one is due. */
export class Trigger {
  private readonly pending = new Map<Reason, Pending>();
  private changed: () => void = () => undefined;

  /** @param now a monotonic clock in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  fire(reason: Reason): void {
    const now = this.now();
    const known = this.pending.get(reason);
    if (known) known.last = now;
    else this.pending.set(reason, { first: now, last: now });
    this.changed();
  }

  /**
   * Waits until a sync is due. Reasons that arrive later count for the next one.
   * @param isPaused whether the last one failed @returns no reasons when the signal is aborted
   */
  async next(isPaused: boolean, signal: AbortSignal): Promise<Reason[]> {
    for (;;) {
      if (signal.aborted) return [];
      const waitMs = this.dueInMs(isPaused);
      if (waitMs <= 0) {
        const reasons = [...this.pending.keys()];
        this.pending.clear();
        return reasons;
      }
      await this.pause(waitMs, signal);
    }
  }

  private dueInMs(isPaused: boolean): number {
    const now = this.now();
    const due = [...this.pending]
      .filter(([reason]) => !isPaused || ENDS_PAUSE.has(reason))
      .map(([reason, { first, last }]) =>
        Math.min(last + QUIET[reason].quietMs, first + QUIET[reason].mostMs),
      );
    return Math.min(Infinity, ...due) - now;
  }

  private pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = ms === Infinity ? undefined : setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      this.changed = done;
    });
  }
}
