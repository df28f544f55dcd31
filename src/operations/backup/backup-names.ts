/** The prefix of the name of a scheduled backup; in a directory, of one that is verified. */
export const SCHEDULED = 'scheduled-';
export const UNVERIFIED = 'unverified-';
export const PARTIAL = 'partial-';

const NAME =
  /^(?<prefix>scheduled-|unverified-|partial-)(?:(?<=partial-)[a-z]+-)?(?<day>\d{4}-\d\d-\d\dT)(?<time>\d{6}\.\d{3}Z)$/;

export const stampOf = (time: Date): string => time.toISOString().replaceAll(':', '');

/** The prefix and the time of a name; undefined for a name of the operator's, which is left alone. */
export function parsed(name: string): { prefix: string; time: number } | undefined {
  const { prefix = '', day = '', time = '' } = NAME.exec(name)?.groups ?? {};
  if (!prefix) return undefined;
  return { prefix, time: Date.parse(day + time.replace(/^(\d\d)(\d\d)/, '$1:$2:')) };
}

/**
 * The verified backups that are too many when `keep` are kept. `newest` stays in any case: names may be of a wrong clock, so those
 * that are later than it count as older than all others, and among themselves by their times.
 */
export function surplusOf(names: readonly string[], keep: number, newest: string): string[] {
  const timeOf = (name: string): number => parsed(name)?.time ?? 0;
  const newestTime = timeOf(SCHEDULED + newest);
  const isLater = (name: string): number => Number(timeOf(name) > newestTime);
  return [...names].sort((a, b) => isLater(a) - isLater(b) || timeOf(b) - timeOf(a)).slice(keep);
}
