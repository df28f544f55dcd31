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
    'Sync, version history and assets for end-to-end encrypted workspaces. The client encrypts paths, contents, ' +
      'labels and file names. The service never sees them in plaintext, except in the Automation API while a key ' +
      'session is presented.',
    'Every answer has `X-Request-Id`. Every error is `{ "error": string }`, with more fields where documented. Errors ' +
      'of the pages are pages, and errors of the identity handler have their own format. In addition to the listed ' +
      'answers, any request can get 400 (malformed request, no Host, or text that is not UTF-8), 404 (no such URL), ' +
      '408 (the body took too long), 415 (encoded body), 431 (headers too large) or 500.',
    'Each GET route accepts HEAD too. 429 and 503 have `Retry-After` in seconds. A request that got one of them ' +
      'changed nothing and can be repeated.',
  ].join('\n\n'),
};

const TAGS = [
  { name: 'Identity', description: 'Sessions and service JWTs.' },
  { name: 'Account', description: 'The user behind the token.' },
  { name: 'Access tokens', description: 'Personal access tokens, for tools.' },
  { name: 'Subscription', description: 'Trial, payment events and subscription state.' },
  { name: 'Workspaces', description: 'Workspaces, each with its own encryption key.' },
  { name: 'Files', description: 'The encrypted files of a workspace.' },
  { name: 'Versions', description: 'The versions of a file.' },
  { name: 'Sync', description: 'The change log: snapshot, pull, push.' },
  { name: 'Checkpoints', description: 'Marks in the change log, and the views computed from them.' },
  { name: 'Live room', description: 'Notification of changes over a WebSocket.' },
  { name: 'Devices', description: 'Registered devices and Web Push.' },
  { name: 'Assets', description: 'Encrypted files beside the change log.' },
  { name: 'Usage', description: 'The storage use and quotas of an account.' },
  { name: 'Automation', description: 'Notes in plaintext, for headless tools with a key session.' },
  { name: 'Pages', description: 'Pages for browsers.' },
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
