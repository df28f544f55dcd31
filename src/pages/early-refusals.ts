import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Configuration } from '../config/index.js';
import { errorPage } from './error-page.js';
import { asPage } from './page.js';

/** The pages, and what people come to from them by hand. */
const PAGES = /^\/(?:account|auth|readme)?(?:[/?]|$)/;

/** Prefixes that only programs use: they always get the API's JSON. */
const PROGRAMS = /^\/(?:api|health|openapi\.json)(?:[/?]|$)/;

/**
 * Refusals that come before any handler, and so before the filter: the kill switch, overload, an address that is none.
 * A browser, which asks for HTML, gets them as pages; everybody else as from the API. Nothing of the address is shown.
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

function isRefusal({ url, method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (reply.statusCode < 400 || PROGRAMS.test(url) || !prefersHtml(headers.accept)) return false;
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
  return isJson && (PAGES.test(url) || ['GET', 'HEAD'].includes(method));
}

/** Whether HTML is asked for by name, and rather than JSON, as browsers do when they open an address. */
function prefersHtml(accept = ''): boolean {
  const html = weightOf(accept, 'text/html');
  return html > 0 && html >= weightOf(accept, 'application/json');
}

/** How much a media type is wanted, 0 to 1; 0 when it is not named. */
function weightOf(accept: string, type: string): number {
  const range = accept.split(',').find((one) => one.split(';', 1)[0]?.trim().toLowerCase() === type);
  if (range === undefined) return 0;
  const weight = Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1);
  return Number.isNaN(weight) ? 0 : weight;
}
