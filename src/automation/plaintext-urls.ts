import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { plainUrl } from '../platform/log/index.js';

const ROOT = '/api/v1/automation/';
const UNROUTED = /\/automation\/.*$/is;

/**
 * The URLs of this API have paths of notes and words of searches in them. They are for the handlers alone: what is
 * written down of a request afterwards, whoever refused it, has the route and the workspace, and nothing else.
 */
@Injectable()
export class PlaintextUrls implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  /** The router has read the URL when a hook sees it, and nobody after that does but the log. */
  onModuleInit(): void {
    const adapter = this.host.httpAdapter as FastifyAdapter | null; // the admin command has none
    if (!adapter) return;
    const fastify = adapter.getInstance();
    fastify.addHook('onRequest', (request, _reply, done) => {
      forgetPlaintext(request);
      done();
    });
    // For requests that another hook has refused before they came to the first one.
    fastify.addHook('onSend', (request, _reply, _payload, done) => {
      forgetPlaintext(request);
      done();
    });
  }
}

/** The route as the router has it: a URL can be spelt in many ways. */
function forgetPlaintext({ raw, routeOptions, params }: FastifyRequest): void {
  if (routeOptions.url?.startsWith(ROOT)) {
    raw.url = routeOptions.url.replace(':id', (params as { id: string }).id);
  } else raw.url = plainUrl(raw.url ?? '').replace(UNROUTED, '/automation/[redacted]');
}
