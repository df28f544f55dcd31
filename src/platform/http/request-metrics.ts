import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { type Counter, type Histogram, Metrics } from '../metrics/index.js';
import { InFlightRequests } from './in-flight.js';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Requests in numbers, by the pattern of their route: a path would give away what people have, and never end. */
@Injectable()
export class RequestMetrics {
  private readonly durations: Histogram;
  private readonly rateLimited: Counter;

  constructor(
    private readonly metrics: Metrics,
    inFlight: InFlightRequests,
  ) {
    this.durations = metrics.histogram(
      'cloud_sync_http_request_duration_seconds',
      'Answered requests, from their headers to the last byte of the answer; the body of an upload counts',
      ['route', 'method', 'status'],
      SECONDS,
    );
    this.rateLimited = metrics.counter(
      'cloud_sync_rate_limited_total',
      'Requests refused with 429 for coming too often',
    );
    metrics.gauge('cloud_sync_http_requests_in_flight', 'Requests under way', [], () => [
      { value: inFlight.count },
    ]);
  }

  watch(fastify: FastifyInstance): void {
    if (!this.metrics.isOn) return;
    fastify.addHook('onResponse', (request, reply, done) => {
      const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
      const status = `${Math.floor(reply.statusCode / 100)}xx`;
      this.durations.observe({ route, method: request.method, status }, reply.elapsedTime / 1000);
      if (reply.statusCode === 429) this.rateLimited.add();
      done();
    });
  }
}
