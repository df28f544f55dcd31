/**
 * How often a race is run: as often as the suite has time for, or TRIALS times, to the next full round.
 * TRIALS=1000 is what the promises are held to.
 */
export function trials(usual: number): number {
  return Number(process.env['TRIALS'] ?? usual);
}
