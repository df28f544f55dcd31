import { loadavg } from 'node:os';
import { type Figures, medians, roundedValue } from './figures.js';

const ROUNDS = 5;
/** Of hot paths: the engine goes on compiling for some 40,000 uploads. */
export const WARM_UP_MS = 10_000;

/** One that is measured: the service, or what it is held against. */
export interface Contestant {
  readonly name: string;
  readonly run: (round: number) => Promise<Figures>;
}

export interface Result {
  readonly case: string;
  /** Load average of the last minute when it was measured: who else used the machine. */
  readonly load: number;
  /** By contestant; medians. */
  readonly figures: Readonly<Record<string, Figures>>;
  /** The first contestant's figures, which is the service, as a share of each other one's. */
  readonly ratios: Readonly<Record<string, Figures>>;
  readonly note?: string;
}

/**
 * Runs the contestants in turns, A B A B …, so that what else the machine does hits all alike. Before that each runs for
 * `warmUpMs`, one round at least, which is not counted, for caches and compilers to warm up.
 */
export async function measureBeside(
  name: string,
  contestants: readonly Contestant[],
  {
    rounds = ROUNDS,
    warmUpMs = 0,
    note,
  }: { rounds?: number; warmUpMs?: number; note?: string | undefined } = {},
): Promise<Result> {
  const taken = new Map<string, Figures[]>(contestants.map((contestant) => [contestant.name, []]));
  for (const contestant of contestants) await warmUp(contestant, warmUpMs);
  for (let round = 1; round <= rounds; round++)
    for (const { name, run } of contestants) taken.get(name)?.push(await run(round));
  const figures = Object.fromEntries([...taken].map(([who, all]) => [who, medians(all)]));
  const [service = {}, ...others] = Object.values(figures);
  const shares = others.map((other, index) => [contestants[index + 1]?.name, sharesOf(service, other)]);
  return { ...result(name, figures, note), ratios: Object.fromEntries(shares) as Record<string, Figures> };
}

async function warmUp({ run }: Contestant, ms: number): Promise<void> {
  const end = performance.now() + ms;
  do await run(0);
  while (performance.now() < end);
}

/** For what was measured otherwise. */
export function result(name: string, figures: Record<string, Figures>, note?: string): Result {
  return {
    case: name,
    load: roundedValue(loadavg()[0] ?? NaN),
    figures: Object.fromEntries(Object.entries(figures).map(([who, its]) => [who, rounded(its)])),
    ratios: {},
    ...(note === undefined ? {} : { note }),
  };
}

function sharesOf(service: Figures, other: Figures): Figures {
  const common = Object.entries(service).filter(([name]) => other[name] !== undefined);
  return rounded(Object.fromEntries(common.map(([name, value]) => [name, value / (other[name] ?? NaN)])));
}

function rounded(figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, roundedValue(value)]));
}
