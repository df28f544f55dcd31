/** How often a race is run: as often as the suite has time for, or TRIALS times, to the next full round. */
export function trials(usual: number): number {
  return Number(process.env['TRIALS'] ?? usual);
}
