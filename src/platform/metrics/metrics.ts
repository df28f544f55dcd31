import type { Registry } from 'prom-client';
import { inTime } from '../clock/index.js';
import type { Log } from '../log/index.js';

type PromClient = typeof import('prom-client');

type Labels = Readonly<Record<string, string>>;

/** Monotonically increasing. */
export interface Counter {
  add(labels?: Labels, amount?: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

/** One value of a gauge. */
export interface Reading {
  readonly labels?: Labels;
  readonly value: number;
}

/**
 * A scrape completes before Prometheus times out (10 s), whatever hangs. Longer than a look at the dependencies: that one does not
 * answer is a value too.
 */
const READ_WITHIN_MS = 3_000;

const NOTHING = { add: () => undefined, observe: () => undefined };

/**
 * Metrics of this instance. The module that owns a value declares it here, with a name that starts with `cloud_sync_`. Danger:
 * a label must have few values that are known in advance, never an id, an address or a path.
 */
export class Metrics {
  private readonly registry: Registry | undefined;

  /** @param client the library; without it, nothing is counted */
  constructor(
    private readonly log: Log,
    private readonly client?: PromClient,
  ) {
    if (!client) return;
    this.registry = new client.Registry();
    client.collectDefaultMetrics({ register: this.registry });
  }

  /** Whether metrics are enabled. */
  get isOn(): boolean {
    return this.registry !== undefined;
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    if (!this.client) return NOTHING;
    const counter = new this.client.Counter({ ...this.described(name, help, labelNames) });
    return { add: (labels = {}, amount = 1) => counter.inc(labels, amount) };
  }

  /** @param buckets upper bounds, in the unit of the name's suffix */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: number[]): Histogram {
    if (!this.client) return NOTHING;
    const histogram = new this.client.Histogram({ ...this.described(name, help, labelNames), buckets });
    return { observe: (labels, value) => histogram.observe(labels, value) };
  }

  /**
   * A gauge that is read at each scrape. If a read fails or hangs, its values are missing and all others are still reported.
   * Only the first of consecutive failures is logged: a missing value does not say why.
   */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => readonly Reading[] | Promise<readonly Reading[]>,
  ): void {
    if (!this.client) return;
    let isFailing = false;
    const gauge = new this.client.Gauge({
      ...this.described(name, help, labelNames),
      collect: async () => {
        const readings = await readInTime(read).catch((err: unknown) => {
          if (!isFailing) this.log.warn({ err }, `the metric ${name} cannot be read`);
          return undefined;
        });
        isFailing = readings === undefined;
        gauge.reset();
        if (labelNames.length === 0) gauge.remove(); // reset leaves a 0, which would be reported as a value
        for (const { labels = {}, value } of readings ?? []) gauge.set(labels, value);
      },
    });
  }

  /** All metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.registry?.metrics() ?? Promise.resolve('');
  }

  private described(
    name: string,
    help: string,
    labelNames: readonly string[],
  ): { name: string; help: string; labelNames: string[]; registers: Registry[] } {
    return { name, help, labelNames: [...labelNames], registers: this.registry ? [this.registry] : [] };
  }
}

function readInTime(
  read: () => readonly Reading[] | Promise<readonly Reading[]>,
): Promise<readonly Reading[]> {
  const reading = Promise.resolve().then(read);
  return inTime(READ_WITHIN_MS, reading, () => new Error('it takes too long'));
}
