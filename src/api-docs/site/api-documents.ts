import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { createHash } from 'node:crypto';
import { jsonBodyFactory } from '../../platform/http/index.js';
import { type ApiDocument, buildDocument, type ControllerClass } from '../index.js';
import { docsPage } from './docs-page.js';
import { policyOf, SECURITY_SCHEMES } from './policy.js';

const INFO = {
  title: 'Cloud Sync Service',
  version: '1',
  description: [
    'Sync, version history and assets of end-to-end encrypted workspaces. Paths, contents, labels and file names are ' +
      'encrypted by the client; the service never sees them in plaintext, but for the Automation API while a key ' +
      'session is presented.',
    'Every answer carries `X-Request-Id`. Every error is `{ "error": string }`, with more fields where said; errors ' +
      'of the pages are pages, those of the identity handler have its own form. Beside the answers listed, any ' +
      'request may meet 400 (a malformed request, no Host, or text that is not UTF-8), 404 (no such address), 408 (the body took too long), ' +
      '415 (an encoded body), 431 (the headers are too large) or 500.',
    'Each GET has a HEAD. 429 and 503 carry `Retry-After` in seconds; a request that met one of them changed nothing ' +
      'and may be made again.',
  ].join('\n\n'),
};

const TAGS = [
  { name: 'Identity', description: 'Sessions and service JWTs.' },
  { name: 'Account', description: 'The user behind the token.' },
  { name: 'Access tokens', description: 'Personal access tokens, for tools.' },
  { name: 'Subscription', description: 'Trial, payment and what they open.' },
  { name: 'Workspaces', description: 'What belongs together, under one key.' },
  { name: 'Files', description: 'The encrypted files of a workspace.' },
  { name: 'Versions', description: 'What a file was before.' },
  { name: 'Sync', description: 'The change log: snapshot, pull, push.' },
  { name: 'Checkpoints', description: 'Marks in the change log, and what they say.' },
  { name: 'Live room', description: 'Being told of changes.' },
  { name: 'Devices', description: 'Registered devices and Web Push.' },
  { name: 'Assets', description: 'Encrypted files beside the change log.' },
  { name: 'Usage', description: 'What an account takes up, and what it may.' },
  { name: 'Automation', description: 'Notes in plaintext, for headless tools with a key session.' },
  { name: 'Pages', description: 'For people, in a browser.' },
  { name: 'Service', description: 'Health, and this document.' },
] as const;

/** A body with its ETag. */
export interface Served {
  readonly body: Buffer;
  readonly etag: string;
}

/** The API document, and the page made from it. Both are built on the first request and cached. */
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

  /** The content of docs/openapi.json. */
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
