const BEAT_MS = 10_000;
/** A timer that is this late means that the machine slept, or that the process was stopped. */
const LATE_MS = 20_000;

/** Calls `woken` after the machine has slept: the wall clock has advanced, timers have not. @returns how to stop it */
export function onWake(woken: () => void): () => void {
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > BEAT_MS + LATE_MS) woken();
    last = now;
  }, BEAT_MS);
  return () => clearInterval(timer);
}
