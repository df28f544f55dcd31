import { loadavg } from 'node:os';
import { type Figures, medians, roundedValue } from './figures.js';

const ROUNDS = 5;
/** For hot paths: V8 keeps compiling for about 40,000 uploads. */
export const WARM_UP_MS = 10_000;

/** A measured system: the service, or one that it is compared with. */
export interface Contestant {
  readonly name: string;
  readonly run: (round: number) => Promise<Figures>;
}

export interface Result {
  readonly case: string;
  /** The one-minute load average at the time of measurement: how busy the machine was otherwise. */
  readonly load: number;
  /** Medians by contestant. */
  readonly figures: Readonly<Record<string, Figures>>;
  /** The figures of the first contestant, the service, divided by those of each other contestant. */
  readonly ratios: Readonly<Record<string, Figures>>;
  readonly note?: string;
}

/**
 * Alternates between the contestants, A B A B …, so that other load on the machine affects all alike. Each first warms up
 * for `warmUpMs`, but at least for one round; the warm-up is not counted.
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

/** A result of figures that were measured in another way. */
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
