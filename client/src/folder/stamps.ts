import type { Stat } from './ports.js';

const SECOND_NS = 1_000_000_000n;
/** Clocks of file systems that count finely follow the system's ticks, at most some 16 ms. */
const FINE_TICK_MS = 100;
/** FAT counts in steps of two seconds. */
const COARSE_TICK_MS = 2_000;

/** How long two writes of this file may leave the same time. A time in whole seconds may come from a disk that has no others. */
export function tickOf({ mtimeNs, ctimeNs }: Stat): number {
  return mtimeNs % SECOND_NS === 0n && ctimeNs % SECOND_NS === 0n ? COARSE_TICK_MS : FINE_TICK_MS;
}

/**
 * Whether an equal stat proves from now on that the content is the one that was looked at: a later write leaves
 * another time. Not while the last write is within a tick of the clock.
 */
export function isProof(stat: Stat, lookedAtMs: number): boolean {
  const tick = tickOf(stat);
  const isFar = (timeNs: bigint): boolean => Math.abs(lookedAtMs - Number(timeNs / 1_000_000n)) > tick;
  return isFar(stat.ctimeNs) && isFar(stat.mtimeNs);
}

/** Size and mtime are not enough: a file that was moved into the place of another keeps its own. */
export function isSameStat(a: Stat, b: Stat): boolean {
  return (
    a.kind === b.kind &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.ino === b.ino
  );
}
