/** Runs `work` `total` times with `inFlight` concurrent operations; returns operations per second. */
export async function perSecond(
  total: number,
  inFlight: number,
  work: (i: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < total) await work(next++);
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, lane));
  return total / ((performance.now() - started) / 1000);
}

/** Returns the duration in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
