import { Controller, Get, Headers, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented, page } from '../index.js';
import { ApiDocuments, type Served, served } from './api-documents.js';
import { STYLESHEET } from './stylesheet.js';

const KEPT = {
  304: { description: 'the client has the current version', headers: { ETag: 'Identifies the version.' } },
} as const;
const IF_NONE_MATCH = { 'If-None-Match': { description: 'The ETag that the client has.' } } as const;

const API_DOCS_DOCS = {
  tag: 'Service',
  operations: {
    json: {
      summary: 'Get this document',
      headers: IF_NONE_MATCH,
      answers: {
        200: { description: 'OpenAPI 3.1', content: { 'application/json': { type: 'object' } } },
        ...KEPT,
      },
    },
    page: {
      summary: 'Show this document as a page',
      headers: IF_NONE_MATCH,
      answers: { 200: page('the page, which loads nothing from other hosts'), ...KEPT },
    },
    stylesheet: {
      summary: 'Get the stylesheet of the documentation page',
      headers: IF_NONE_MATCH,
      answers: { 200: { description: 'CSS', content: { 'text/css': {} } }, ...KEPT },
    },
  },
} as const;

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const stylesheet = served(STYLESHEET);

/** The API document, for programs and for people. The same for everybody. */
@Controller()
@Documented(API_DOCS_DOCS)
@Public('describes the API; contains no user data')
export class ApiDocsController {
  constructor(private readonly documents: ApiDocuments) {}

  @Get('openapi.json')
  async json(@Headers('if-none-match') known: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    await send(reply, known, 'application/json; charset=utf-8', await this.documents.json());
  }

  @Get('docs')
  async page(@Headers('if-none-match') known: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    reply.header('content-security-policy', POLICY);
    await send(reply, known, 'text/html; charset=utf-8', await this.documents.page());
  }

  @Get('docs/page.css')
  async stylesheet(
    @Headers('if-none-match') known: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await send(reply, known, 'text/css; charset=utf-8', stylesheet);
  }
}

/** May be cached by anybody, but must be revalidated each time: the next release has another document. */
async function send(
  reply: FastifyReply,
  known: string | undefined,
  type: string,
  { body, etag }: Served,
): Promise<void> {
  reply.headers({ etag, 'cache-control': 'public, no-cache' });
  const isKnown = known?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
  if (isKnown) await reply.status(304).send();
  else await reply.type(type).send(body);
}
