import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { plainUrl } from '../../platform/log/index.js';

const ROOT = '/api/v1/automation/';
const UNROUTED = /\/automation\/.*$/is;

/**
 * URLs of this API contain note paths and search words, which only the handlers may see. After routing, everything
 * recorded about a request, whoever refused it, shows only the route and the workspace.
 */
@Injectable()
export class PlaintextUrls implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  /** When the hook runs, the router has already read the URL, and after that only the log reads it. */
  onModuleInit(): void {
    const adapter = this.host.httpAdapter as FastifyAdapter | null; // the admin command has none
    if (!adapter) return;
    const fastify = adapter.getInstance();
    fastify.addHook('onRequest', (request, _reply, done) => {
      forgetPlaintext(request);
      done();
    });
    // For requests that another hook refused before they reached the first one.
    fastify.addHook('onSend', (request, _reply, _payload, done) => {
      forgetPlaintext(request);
      done();
    });
  }
}

/** Uses the router's pattern, because a URL can be spelled in many ways. */
function forgetPlaintext({ raw, routeOptions, params }: FastifyRequest): void {
  if (routeOptions.url?.startsWith(ROOT)) {
    raw.url = routeOptions.url.replace(':id', (params as { id: string }).id);
  } else raw.url = plainUrl(raw.url ?? '').replace(UNROUTED, '/automation/[redacted]');
}
