import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApiDocsController } from './api-docs.controller.js';
import { ApiDocuments } from './api-documents.js';
import { DocsPagesController } from './docs-pages.controller.js';
import { DocsPages } from './docs-pages.js';

@Module({
  imports: [DiscoveryModule],
  controllers: [ApiDocsController, DocsPagesController],
  providers: [ApiDocuments, DocsPages],
})
export class ApiDocsModule {}
