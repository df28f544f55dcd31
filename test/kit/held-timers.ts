/** Holds timers of a given length, which fire only when the test says so. */
export interface HeldTimers {
  /** Lengths of the running timers in ms, oldest first. */
  running(): number[];
  /** Number of timers started so far. */
  readonly started: number;
  /** Fires the running timers, or only those of this length. */
  goOff(length?: number): void;
  /** Makes later timers real ones again. */
  release(): void;
}

/** Holds timers in this range of lengths. Choose a range that no other needed timer is in; at most 2^31 - 1. */
export function holdTimers(leastMs: number, mostMs = Infinity): HeldTimers {
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const held = new Map<unknown, { readonly work: () => void; readonly ms: number }>();
  let started = 0;
  const instead = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
    if (ms < leastMs || ms > mostMs) return start(work, ms, ...args); // fetch has timers with arguments
    started++;
    const timer = start(() => undefined, ms).unref();
    held.set(timer, { work: () => work(...args), ms });
    return timer;
  };
  const starting = jest.spyOn(globalThis, 'setTimeout').mockImplementation(instead as typeof setTimeout);
  const stopping = jest.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    held.delete(timer);
    stop(timer);
  });
  return {
    running: () => [...held.values()].map(({ ms }) => ms),
    get started() {
      return started;
    },
    goOff: (length) => {
      for (const [timer, { work, ms }] of [...held]) {
        if (ms !== (length ?? ms)) continue;
        held.delete(timer);
        stop(timer as NodeJS.Timeout);
        work();
      }
    },
    release: () => {
      starting.mockRestore();
      stopping.mockRestore();
    },
  };
}
