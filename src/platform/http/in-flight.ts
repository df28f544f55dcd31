import type { BeforeApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { ServiceUnavailable } from './errors.js';

const DRAIN_MS = 25_000;

/** A process that drains is alive: who would kill it for a 503 here would cut its requests off. */
const LIVENESS = '/health';

/**
 * Counts the requests under way. At shutdown those finish, 25 s at most, while new ones are sent elsewhere (503,
 * connection closed); only then does the framework close what is left, and the pool after it.
 */
export class InFlightRequests implements BeforeApplicationShutdown {
  private count = 0;
  private isDraining = false;
  private whenIdle: (() => void) | undefined;

  watch(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      this.count++;
      // Not onResponse: it never comes for a client that has gone, and the drain would wait for it in vain.
      reply.raw.once('close', () => this.leave());
      if (!this.isDraining || request.url === LIVENESS) {
        done();
        return;
      }
      reply.header('connection', 'close');
      done(new ServiceUnavailable('the service is shutting down', 5));
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isDraining = true;
    if (this.count === 0) return;
    let deadline: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.whenIdle = resolve;
      deadline = setTimeout(resolve, DRAIN_MS);
    });
    clearTimeout(deadline);
  }

  private leave(): void {
    this.count--;
    if (this.count === 0) this.whenIdle?.();
  }
}
