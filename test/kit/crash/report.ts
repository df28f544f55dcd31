import type { Tally } from './writer.js';

/** The report of a run of crashes. */
export class Report {
  acknowledged = 0;
  unheard = 0;
  lastLine = '';
  private happened = 0;
  private ms = 0;
  private slowestReadyMs = 0;
  private readonly crashes = new Map<string, number>();
  private readonly acts = new Map<string, number>();

  /** @param figures lost acts that had happened, time until the service was ready, and that of the round */
  add(crash: string, tally: Tally, figures: { happened: number; readyMs: number; ms: number }): void {
    this.acknowledged += tally.acknowledged;
    this.unheard += tally.unheard.length;
    this.happened += figures.happened;
    this.ms += figures.ms;
    this.slowestReadyMs = Math.max(this.slowestReadyMs, figures.readyMs);
    count(this.crashes, crash, 1);
    for (const [act, n] of tally.acknowledgedKinds) count(this.acts, act, n);
    const { acknowledged, unheard } = tally;
    this.lastLine =
      `${crash}, ${acknowledged} acknowledged, ${unheard.length} unheard of which ${figures.happened} had happened, ` +
      `${Math.round(figures.ms)} ms`;
  }

  get text(): string {
    const list = (counts: Map<string, number>): string =>
      [...counts].map(([name, n]) => `${n} ${name}`).join(', ');
    return [
      list(this.crashes),
      `acknowledged ${this.acknowledged}: ${list(this.acts)}`,
      `unheard ${this.unheard}, of which ${this.happened} had happened`,
      `ready again in ${Math.round(this.slowestReadyMs)} ms at most, ${Math.round(this.ms / 1000)} s in all`,
    ].join('; ');
  }
}

function count(counts: Map<string, number>, name: string, n: number): void {
  counts.set(name, (counts.get(name) ?? 0) + n);
}
