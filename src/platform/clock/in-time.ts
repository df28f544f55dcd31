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

/** Resolves when `work` has come to its end, well or not, or after `ms`. */
export async function endOf(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work.then(nothing, nothing), patience]);
  clearTimeout(timer);
}

const nothing = (): void => undefined;
