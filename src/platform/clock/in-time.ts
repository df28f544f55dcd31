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
