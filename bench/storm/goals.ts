import { quantile } from '../measure/figures.js';
import type { Report } from './ledger.js';
import type { Blown } from './storm.js';

export const MIB = 1024 * 1024;

/** The limits that a run must stay within. */
const GOALS = { ratio: 4, failedPerThousand: 1, mebibytes: 600, recoverySeconds: 10 };

/** Goals under trickling attacks: the clients retake every slot as soon as they are dropped, and the service holds their data. */
const TRICKLED_GOALS = { ...GOALS, ratio: 10, mebibytes: 900 };

const isTrickled = (attack: string): boolean => attack.startsWith('trickled-');

/** The measurements of a run; latencies are in milliseconds. */
export interface Figures {
  readonly calm: Latencies;
  readonly storm: Latencies;
  readonly requests: number;
  readonly failedPerThousand: number;
  readonly limited: number;
  readonly wrong: number;
  readonly socketsLost: number;
  readonly mebibytes: number;
  readonly recoverySeconds: number;
  readonly missing: readonly string[];
}

type Latencies = Readonly<
  Record<'put' | 'pull', { readonly p50: number; readonly p99: number; readonly count: number }>
>;

function latencies(reports: readonly Report[], phase: string): Latencies {
  const of = (kind: string): Latencies['put'] => {
    const all = reports.flatMap((report) => report.latencies[phase]?.[kind] ?? []);
    return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), count: all.length };
  };
  return { put: of('put'), pull: of('pull') };
}

export function figures(calm: readonly Report[], blown: readonly Blown[], mostBytes: number): Figures {
  const reports = blown.map(({ report }) => report);
  const sum = (of: (report: Report) => number): number =>
    reports.reduce((all, report) => all + of(report), 0);
  const requests = sum((report) => report.requests);
  return {
    calm: latencies(calm, 'calm'),
    storm: latencies(reports, 'storm'),
    requests,
    failedPerThousand: (1000 * sum((report) => report.failed)) / requests,
    limited: sum((report) => report.limited),
    wrong: sum((report) => report.wrong),
    socketsLost: sum((report) => report.socketsLost),
    mebibytes: mostBytes / MIB,
    recoverySeconds: Math.max(...blown.map(({ recovery }) => recovery.ms / 1000)),
    missing: [...new Set(blown.flatMap(({ recovery }) => recovery.missing))],
  };
}

/** One line per missed goal. @param only the attacks; all when empty */
export function missed(its: Figures, others: readonly string[], only: readonly string[]): string[] {
  const goals = only.length === 0 || only.some(isTrickled) ? TRICKLED_GOALS : GOALS;
  const ratio = (kind: 'put' | 'pull'): number => its.storm[kind].p99 / its.calm[kind].p99;
  const lines = [...others];
  for (const kind of ['put', 'pull'] as const)
    if (!(ratio(kind) <= goals.ratio))
      lines.push(
        `p99 of ${kind}: ${ratio(kind).toFixed(1)} × that of the calm phase, limit ${goals.ratio} ×`,
      );
  if (!(its.failedPerThousand <= goals.failedPerThousand))
    lines.push(`${its.failedPerThousand.toFixed(1)} per thousand requests of ordinary users failed`);
  if (its.limited > 0) lines.push(`${its.limited} requests of ordinary users were limited (429)`);
  if (its.wrong > 0) lines.push(`${its.wrong} requests of ordinary users got an unexpected answer`);
  if (its.socketsLost > 0) lines.push(`${its.socketsLost} sockets of ordinary users were closed`);
  if (!(its.mebibytes < goals.mebibytes))
    lines.push(`${Math.round(its.mebibytes)} MiB of memory, limit ${goals.mebibytes}`);
  if (!(its.recoverySeconds <= goals.recoverySeconds))
    lines.push(
      `${its.recoverySeconds.toFixed(1)} s until everything had recovered (${its.missing.join(', ') || 'late'})`,
    );
  return lines;
}
