/**
 * What `work` gives, when it does within `ms`. The work itself goes on: who calls this sees to its end.
 * @throws what `tooLate` makes when it does not, and what the work throws
 */
export async function inTime<T>(ms: number, work: Promise<T>, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const nothing = (): void => undefined;

/** How long a shutdown waits for work in the background. What is cut off then is done again after the next start. */
const LAST_BATCH_MS = 10_000;

/** At a shutdown: resolves when background work has ended, well or not, or after ten seconds. Never rejects. */
export const drained = (work: Promise<unknown>): Promise<void> =>
  inTime(LAST_BATCH_MS, work, () => new Error('it takes too long')).then(nothing, nothing);
