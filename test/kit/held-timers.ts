/** Timers of a length that nothing else uses, which go off when a test says so and not by themselves. */
export interface HeldTimers {
  /** In ms, of those that run, the oldest first. */
  running(): number[];
  /** How many have been started. */
  readonly started: number;
  /** Those that run go off, or only those of this length. */
  goOff(length?: number): void;
  /** Later timers are real ones again. */
  release(): void;
}

/** Holds timers of these lengths, at most 2^31 - 1, which none has that must go on. */
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
