import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Configuration, OperatorError } from '../config/index.js';
import { Log } from '../log/index.js';
import { Metrics } from './metrics.js';

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

  /** Closed last, so that a shutdown can be monitored. */
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
