import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Counter, type Histogram, Metrics } from '../metrics/index.js';
import { InFlightRequests, type RequestEnd } from './in-flight.js';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Request metrics by route pattern: paths would reveal what users have, and have unlimited cardinality. */
@Injectable()
export class RequestMetrics {
  private readonly durations: Histogram;
  private readonly brokenOff: Counter;
  private readonly rateLimited: Counter;

  constructor(metrics: Metrics, inFlight: InFlightRequests) {
    this.durations = metrics.histogram(
      'cloud_sync_http_request_duration_seconds',
      'Duration of answered requests, from their headers to the last byte of the response; includes the request body',
      ['route', 'method', 'status'],
      SECONDS,
    );
    this.brokenOff = metrics.counter(
      'cloud_sync_http_requests_broken_off_total',
      'Requests whose connection was closed by either side before the last byte of the response',
      ['route', 'method'],
    );
    this.rateLimited = metrics.counter(
      'cloud_sync_rate_limited_total',
      'Requests refused with 429 by a rate limit',
    );
    metrics.gauge('cloud_sync_http_requests_in_flight', 'Requests in progress', [], () => [
      { value: inFlight.underWay },
    ]);
    if (metrics.isOn) inFlight.onEnd((request, reply, end) => this.count(request, reply, end));
  }

  private count(request: FastifyRequest, { statusCode }: FastifyReply, { ms, isAnswered }: RequestEnd): void {
    const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
    const { method } = request;
    const status = `${Math.floor(statusCode / 100)}xx`;
    if (isAnswered) this.durations.observe({ route, method, status }, ms / 1000);
    else this.brokenOff.add({ route, method });
    if (statusCode === 429) this.rateLimited.add();
  }
}
