import type { Stat } from './ports.js';

const SECOND_NS = 1_000_000_000n;
/** File systems with fine-grained times follow the system's ticks of at most about 16 ms. */
const FINE_TICK_MS = 100;
/** FAT has a resolution of two seconds. */
const COARSE_TICK_MS = 2_000;

/** How long two writes of this file may get the same time. Whole seconds may come from a disk with a coarse clock. */
export function tickOf({ mtimeNs, ctimeNs }: Stat): number {
  return mtimeNs % SECOND_NS === 0n && ctimeNs % SECOND_NS === 0n ? COARSE_TICK_MS : FINE_TICK_MS;
}

/**
 * Whether an equal stat proves from now on that the content is the one that was read, because a later write gets another
 * time. False while the last write is within a tick of the clock.
 */
export function isProof(stat: Stat, lookedAtMs: number): boolean {
  const tick = tickOf(stat);
  const isFar = (timeNs: bigint): boolean => Math.abs(lookedAtMs - Number(timeNs / 1_000_000n)) > tick;
  return isFar(stat.ctimeNs) && isFar(stat.mtimeNs);
}

/** Compares more than size and mtime: a file that replaces another by a rename keeps its own mtime. */
export function isSameStat(a: Stat, b: Stat): boolean {
  return (
    a.kind === b.kind &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.ino === b.ino
  );
}
