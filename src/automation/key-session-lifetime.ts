const MINUTE_MS = 60_000;
/** Not used for so long, it has ended. */
export const IDLE_MS = 15 * MINUTE_MS;
const LONGEST_MS = 8 * 60 * MINUTE_MS;

/** When a session that is used now ends, unless it is used again. */
export function endOf(lastUse: Date): Date {
  return new Date(lastUse.getTime() + IDLE_MS);
}

/** The first three values of every statement that asks which sessions are live: last use after, opened after, now. */
export function liveAt(now: Date): [Date, Date, Date] {
  return [new Date(now.getTime() - IDLE_MS), new Date(now.getTime() - LONGEST_MS), now];
}
