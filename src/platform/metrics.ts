import { Global, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { inTime } from './clock.js';
import { Configuration, OperatorError } from './config/index.js';
import { Log } from './log.js';

type PromClient = typeof import('prom-client');

type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: Labels, amount?: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

export interface Reading {
  readonly labels?: Labels;
  readonly value: number;
}

/**
 * Lets a scrape complete before Prometheus times out (10 s), even if a read hangs. Longer than a readiness check: that a
 * dependency does not answer is also a value.
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
   * A gauge that is read at each scrape. If a read fails or hangs, its values are missing and all others are still reported. Logs
   * the first of consecutive failures, because a missing value does not show the reason.
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
        const reading = Promise.resolve().then(read);
        const tooLate = (): Error => new Error('it takes too long');
        const readings = await inTime(READ_WITHIN_MS, reading, tooLate).catch((err: unknown) => {
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

const MAX_CONNECTIONS = 50;
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** GET /metrics on METRICS_PORT: a separate port, which clients that can only reach the API cannot reach. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private server: Server | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /** The port it listens on; undefined if it does not listen. */
  get port(): number | undefined {
    return (this.server?.address() as AddressInfo | null | undefined)?.port;
  }

  /**
   * Starts listening, if METRICS_PORT is set.
   * @throws OperatorError when the address cannot be used
   */
  async start(): Promise<void> {
    const { metricsPort: port, host } = this.configuration;
    if (port === undefined) return;
    const server = createServer((request, response) => void this.answer(request, response));
    server.maxConnections = MAX_CONNECTIONS;
    server.listen({ port, host });
    try {
      await once(server, 'listening');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const sentence = `METRICS_PORT ${port} cannot be used on ${host} (${code}); set it to another port, or unset it.`;
      throw new OperatorError(sentence, { cause: error });
    }
    this.server = server;
  }

  /** Runs last, so that a shutdown can be monitored. */
  async onApplicationShutdown(): Promise<void> {
    if (!this.server) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isKnown = request.method === 'GET' && request.url?.split('?')[0] === '/metrics';
    if (!isKnown) {
      response.writeHead(404).end();
      return;
    }
    try {
      const text = await this.metrics.text();
      response.writeHead(200, { 'content-type': CONTENT_TYPE, 'cache-control': 'no-store' }).end(text);
    } catch (err) {
      this.log.error({ err }, 'the metrics cannot be reported');
      response.writeHead(500).end();
    }
  }
}

@Global()
@Module({
  providers: [
    {
      provide: Metrics,
      inject: [Configuration, Log],
      useFactory: async ({ metricsPort }: Configuration, log: Log) =>
        // Loaded only if enabled: a service without monitoring does not need it.
        new Metrics(log, metricsPort === undefined ? undefined : await import('prom-client')),
    },
    MetricsServer,
  ],
  exports: [Metrics, MetricsServer],
})
export class MetricsModule {}
