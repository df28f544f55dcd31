import { Controller, Get, Headers, Module, Res } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { ApiDocuments, IF_NONE_MATCH, KEPT, sendKept } from './api-documents.js';
import { DocsPages, DocsPagesController } from './docs-pages.js';

export { ApiDocuments, documentText } from './api-documents.js';

const API_DOCS_DOCS = {
  tag: 'Service',
  operations: {
    json: {
      id: 'service.getApiDocument',
      summary: 'Get this document',
      headers: IF_NONE_MATCH,
      answers: {
        200: { description: 'OpenAPI 3.1', content: { 'application/json': { type: 'object' } } },
        ...KEPT,
      },
    },
  },
} as const;

/** The API document as JSON, the same for all callers. */
@Controller()
@Documented(API_DOCS_DOCS)
@Public('describes the API; contains no user data')
export class ApiDocsController {
  constructor(private readonly documents: ApiDocuments) {}

  @Get('openapi.json')
  async json(@Headers('if-none-match') known: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    await sendKept(reply, known, 'application/json; charset=utf-8', await this.documents.json());
  }
}

@Module({
  imports: [DiscoveryModule],
  controllers: [ApiDocsController, DocsPagesController],
  providers: [ApiDocuments, DocsPages],
})
export class ApiDocsModule {}
