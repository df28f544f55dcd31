const LINE = /(Scavenge|Mark-Compact).*? [\d.]+ \([\d.]+\) -> ([\d.]+) \(/;
const MIB = 1024 * 1024;

/**
 * Bytes that survived each young collection but not the one before, computed from `--trace-gc`. Work that retains nothing
 * adds nothing.
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
