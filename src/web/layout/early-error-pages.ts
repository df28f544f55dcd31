import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Configuration } from '../../platform/config/index.js';
import { errorPage } from './error-page.js';
import { asPage } from './page.js';
import { prefersHtml } from './prefers-html.js';

/** The pages, and addresses near them that people may type by hand. */
const PAGES = /^\/(?:account|auth|readme)?(?:[/?]|$)/;

/** Prefixes that only programs use: they always get the API's JSON. */
const PROGRAMS = /^\/(?:api|health|openapi\.json)(?:[/?]|$)/;

/**
 * Refusals that happen before any handler, and therefore before the filter: the kill switch, overload, an invalid address. A
 * browser, which requests HTML, gets them as pages; all others get the API's JSON. The page does not repeat the address.
 */
@Injectable()
export class EarlyErrorPages implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly configuration: Configuration,
  ) {}

  onModuleInit(): void {
    const adapter = this.host.httpAdapter as FastifyAdapter | null; // the admin command has none
    if (!adapter) return;
    adapter.getInstance().addHook('onSend', (request, reply, payload, done) => {
      done(null, isRefusal(request, reply) ? this.page(request, reply, payload) : payload);
    });
  }

  private page(request: FastifyRequest, reply: FastifyReply, payload: unknown): string {
    const { statusCode: status } = reply;
    const { error } = JSON.parse(String(payload)) as { error: string };
    const { publicHost: host } = this.configuration;
    const retryAfter = reply.getHeader('retry-after')?.toString();
    const content = errorPage({ host, status, detail: error, requestId: request.id, retryAfter });
    return asPage(reply, { status, content });
  }
}

function isRefusal({ url, routeOptions, method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  const path = routeOptions.url ?? url; // the route's, because a path can be spelled in many ways
  if (reply.statusCode < 400 || PROGRAMS.test(path) || !prefersHtml(headers.accept)) return false;
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
  return isJson && (PAGES.test(path) || ['GET', 'HEAD'].includes(method));
}
