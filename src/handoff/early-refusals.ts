import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Configuration } from '../config/index.js';
import { errorPage } from './error-page.js';
import { asPage } from './page.js';

/** The pages, and what people come to from them by hand. */
const PAGES = /^\/(?:account|auth)(?:[/?]|$)/;

/**
 * Refusals that come before any handler, and so before the filter: the kill switch, overload, an address that is none.
 * A browser, which asks for HTML, gets them as pages; everybody else as from the API.
 */
@Injectable()
export class EarlyRefusals implements OnModuleInit {
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
    const content = errorPage({ host, status, detail: error, requestId: request.id });
    return asPage(reply, { status, content });
  }
}

function isRefusal({ url, headers }: FastifyRequest, reply: FastifyReply): boolean {
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
  const asksForHtml = headers.accept?.includes('text/html') === true;
  return reply.statusCode >= 400 && isJson && PAGES.test(url) && asksForHtml;
}
