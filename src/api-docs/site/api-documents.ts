import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { createHash } from 'node:crypto';
import { jsonBodyFactory } from '../../platform/http/index.js';
import { type ApiDocument, buildDocument, type ControllerClass } from '../index.js';
import { docsPage } from './docs-page.js';
import { INFO, TAGS } from './document-text.js';
import { policyOf, SECURITY_SCHEMES } from './policy.js';

/** Bytes to be sent, and what they are known by. */
export interface Served {
  readonly body: Buffer;
  readonly etag: string;
}

/** The API document, and the page made of it. Made when first asked for, and kept. */
@Injectable()
export class ApiDocuments {
  private built: Promise<ApiDocument> | undefined;
  private servedJson: Promise<Served> | undefined;
  private servedPage: Promise<Served> | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  document(): Promise<ApiDocument> {
    this.built ??= buildDocument({
      controllers: this.discovery
        .getControllers()
        .map(({ metatype }) => metatype as unknown as ControllerClass),
      jsonBody: jsonBodyFactory,
      info: INFO,
      tags: TAGS,
      securitySchemes: SECURITY_SCHEMES,
      policyOf,
    });
    return this.built;
  }

  /** As it stands in docs/openapi.json. */
  async text(): Promise<string> {
    return `${JSON.stringify(await this.document(), null, 2)}\n`;
  }

  json(): Promise<Served> {
    this.servedJson ??= this.text().then(served);
    return this.servedJson;
  }

  page(): Promise<Served> {
    this.servedPage ??= this.document().then((document) => served(docsPage(document)));
    return this.servedPage;
  }
}

export function served(text: string): Served {
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
  return { body: Buffer.from(text), etag };
}
