import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApiDocsController } from './api-docs.controller.js';
import { ApiDocuments } from './api-documents.js';

@Module({ imports: [DiscoveryModule], controllers: [ApiDocsController], providers: [ApiDocuments] })
export class ApiDocsModule {}
