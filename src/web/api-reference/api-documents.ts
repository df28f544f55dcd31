import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { createHash } from 'node:crypto';
import { jsonBodyFactory } from '../../platform/http/index.js';
import { type ApiDocument, buildDocument, type ControllerClass, type DocumentParts } from '../../platform/api-docs/index.js';
import { EXAMPLES } from './examples.js';
import { GROUPS, INFO, TAGS } from './info.js';
import { policyOf, SECURITY_SCHEMES } from './policy.js';

/** A body with its ETag. */
export interface Served {
  readonly body: Buffer;
  readonly etag: string;
}

/** The API document and that of the pages, built when first requested and cached. */
@Injectable()
export class ApiDocuments {
  private built: Promise<ApiDocument> | undefined;
  private servedJson: Promise<Served> | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  document(): Promise<ApiDocument> {
    this.built ??= this.build({ ofPages: false, examples: EXAMPLES });
    return this.built;
  }

  /** The pages for browsers. It is not served: the tests compare the answers of the pages with it. */
  pages(): Promise<ApiDocument> {
    return this.build({ ofPages: true, examples: {} });
  }

  json(): Promise<Served> {
    this.servedJson ??= this.document().then((document) => served(documentText(document)));
    return this.servedJson;
  }

  private build(parts: Pick<DocumentParts, 'ofPages' | 'examples'>): Promise<ApiDocument> {
    return buildDocument({
      ...parts,
      controllers: this.discovery
        .getControllers()
        .map(({ metatype }) => metatype as unknown as ControllerClass),
      jsonBody: jsonBodyFactory,
      info: INFO,
      tags: TAGS,
      groups: GROUPS,
      securitySchemes: SECURITY_SCHEMES,
      policyOf,
    });
  }
}

/** A document as it is served and committed. */
export const documentText = (document: ApiDocument): string => `${JSON.stringify(document, null, 2)}\n`;

export function served(text: string): Served {
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
  return { body: Buffer.from(text), etag };
}
