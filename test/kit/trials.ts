/** How often to run a race: the usual number, or TRIALS, rounded up to full rounds. */
export function trials(usual: number): number {
  return Number(process.env['TRIALS'] ?? usual);
}
