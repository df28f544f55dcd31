const BEAT_MS = 10_000;
/** Later than this, the machine has slept, or the process was stopped. */
const LATE_MS = 20_000;

/** Calls when the machine has woken: the wall clock has gone on, timers have not. @returns how to stop */
export function onWake(woken: () => void): () => void {
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > BEAT_MS + LATE_MS) woken();
    last = now;
  }, BEAT_MS);
  return () => clearInterval(timer);
}
