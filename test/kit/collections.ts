const LINE = /(Scavenge|Mark-Compact).*? [\d.]+ \([\d.]+\) -> ([\d.]+) \(/;
const MIB = 1024 * 1024;

/**
 * What was still held after each collection of young garbage and not after the one before, in bytes, by the lines of `--trace-gc`.
 * Work that keeps nothing adds nothing.
 */
export function keptBytes(trace: string): { readonly collections: number; readonly bytes: number } {
  let before: number | undefined;
  let collections = 0;
  let kept = 0;
  for (const line of trace.split('\n')) {
    const [, kind, held] = LINE.exec(line) ?? [];
    if (held === undefined) continue;
    if (kind === 'Scavenge' && before !== undefined) {
      kept += Number(held) - before;
      collections++;
    }
    before = Number(held);
  }
  return { collections, bytes: kept * MIB };
}
