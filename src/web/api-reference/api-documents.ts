import { Injectable } from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import {
  ACCESS,
  type Access,
  NAMED_WORKSPACE,
  OWNED_WORKSPACE,
  REQUIRES_SUBSCRIPTION,
  type Scope,
  SCOPES,
  UNBOUND,
  UNLIMITED,
} from '../../access/index.js';
import {
  type ApiDocument,
  buildDocument,
  type ControllerClass,
  type DocumentParts,
  type Handler,
  type Operation,
  type OperationPolicy,
  UUID,
} from '../../platform/api-docs/index.js';
import { EXAMPLES } from './examples.js';

export const INFO = {
  title: 'Cloud Sync Service',
  version: '1',
  description: [
    'Sync, version history and assets for end-to-end encrypted workspaces. The client encrypts paths, contents, ' +
      'labels and file names. The service never sees them in plaintext, except in the Automation API while a key ' +
      'session is presented.',
    'Every answer has `X-Request-Id`. Every error is `{ "error": string }`, with more fields where documented. Errors of the ' +
      'identity handler have their own format. In addition to the listed ' +
      'answers, any request can get 400 (malformed request, no Host, or text that is not UTF-8), 404 (no such URL), ' +
      '408 (the body took too long), 415 (encoded body), 431 (headers too large) or 500.',
    'Each GET route accepts HEAD too. 429 and 503 have `Retry-After` in seconds. A request that got one of them ' +
      'changed nothing and can be repeated.',
  ].join('\n\n'),
};

export const TAGS = [
  { name: 'Identity', description: 'Sessions and service JWTs.' },
  { name: 'Factors', description: 'Second factor and passkeys.' },
  { name: 'Account', description: 'The user behind the token.' },
  { name: 'Access tokens', description: 'Personal access tokens, for tools.' },
  { name: 'Subscription', description: 'Trial, payment events and subscription state.' },
  { name: 'Workspaces', description: 'Workspaces, each with its own encryption key.' },
  {
    name: 'Key slots',
    description:
      'The master key of a workspace, encrypted by clients under passwords, recovery keys and passkeys.',
  },
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

/** The first parts of operation ids, where the tag in camel case would not read well. */
export const GROUPS = { Account: 'auth' } as const;

export const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A service JWT, or a personal access token with one of the listed scopes (`full` includes all of them). A ' +
      'token that is bound to a workspace cannot access any other.',
  },
  interactive: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Only a service JWT. A personal access token is refused, whatever its scopes are.',
  },
  sessionToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The session token from `set-auth-token` or from the handoff, for apps. It opens `/api/auth/` and nothing else.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'better-auth.session_token',
    description:
      'The session of a browser. Over https its name begins with `__Secure-`. A POST with a cookie also needs the ' +
      '`Origin` of a trusted site.',
  },
  keySession: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Key-Session',
    description: 'The key session that opens the workspace. It is sent together with the bearer token.',
  },
};

const reflector = new Reflector();

const NAMING = 'The workspace. `workspaceId`, `X-Workspace-Id` or both must name it.';

/** The effect of a route's decorators on clients, as the guards apply it. */
export function policyOf(handler: Handler, controller: ControllerClass): OperationPolicy {
  const targets = [handler, controller as unknown as Handler];
  const has = (key: string): boolean => reflector.getAllAndOverride<unknown>(key, targets) !== undefined;
  const access = reflector.getAllAndOverride<Access>(ACCESS, targets);
  const isNamed = has(NAMED_WORKSPACE);
  return {
    security: securityOf(access),
    answers: defined({
      ...(isNamed && { 400: 'no workspace is named, or two different ones are' }),
      ...(access.kind !== 'public' && { 401: 'a valid bearer token is required' }),
      ...(has(REQUIRES_SUBSCRIPTION) && { 402: 'an active subscription is required' }),
      ...forbidden(access, has(UNBOUND)),
      ...(has(OWNED_WORKSPACE) && { 404: 'workspace not found' }),
      ...(!has(UNLIMITED) && { 429: 'too many requests' }),
      ...(!isHealth(controller) && { 503: 'temporarily unavailable; a retry may succeed' }),
    }),
    ...(!isNamed &&
      has(OWNED_WORKSPACE) && { path: { id: { description: 'The workspace.', schema: UUID } } }),
    ...(isNamed && {
      query: { workspaceId: { description: NAMING, schema: UUID } },
      headers: { 'X-Workspace-Id': { description: NAMING, schema: UUID } },
    }),
  };
}

/** Any one of the scopes is enough. */
function securityOf(access: Access): OperationPolicy['security'] {
  if (access.kind === 'public') return [];
  if (access.kind === 'interactive') return [{ interactive: [] }];
  if (isForAll(access.scopes)) return [{ bearer: [] }];
  return access.scopes.map((scope) => ({ bearer: [scope] }));
}

function forbidden(access: Access, isUnbound: boolean): Record<number, string> {
  if (access.kind === 'public') return {};
  const causes = [
    ...(access.kind === 'interactive' ? ['an interactive session is required'] : []),
    ...(access.kind === 'bearer' && !isForAll(access.scopes) ? ['the token lacks the scope'] : []),
    ...(isUnbound ? ['the token is bound to a workspace'] : []),
  ];
  return { 403: [...causes, 'the account is suspended'].join(', or ') };
}

const defined = (answers: Readonly<Record<number, string | undefined>>): OperationPolicy['answers'] =>
  answers as OperationPolicy['answers'];

const isForAll = (scopes: readonly Scope[]): boolean => SCOPES.every((scope) => scopes.includes(scope));

/** Health routes, which the kill switch does not affect. */
const isHealth = (controller: ControllerClass): boolean =>
  Reflect.getMetadata('path', controller) === 'health';

/** A body with its ETag. */
export interface Served {
  readonly body: Buffer;
  readonly etag: string;
}

/** Builds the API document, once, when first requested, and the document of the pages. */
@Injectable()
export class ApiDocuments {
  private built: Promise<ApiDocument> | undefined;
  private servedJson: Promise<Served> | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  document(): Promise<ApiDocument> {
    this.built ??= this.build({ ofPages: false, examples: EXAMPLES });
    return this.built;
  }

  /** The document of the pages for browsers. Not served: tests compare the answers of the pages with it. */
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

/** An operation with its place in the document. */
export interface ListedOperation {
  /** In lower case. */
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The operations of a tag, which are on one page. */
export interface Group {
  readonly name: string;
  readonly description: string;
  /** The last segment of the page's address. */
  readonly slug: string;
  readonly listed: readonly ListedOperation[];
}

export function groupsOf({ tags, paths }: ApiDocument): Group[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return tags.map((tag) => ({
    ...tag,
    slug: tag.name.toLowerCase().replace(/\W+/g, '-'),
    listed: all.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
}

/** Documentation of a route that `sendKept` answers. */
export const KEPT = {
  304: { description: 'the client has the current version', headers: { ETag: 'Identifies the version.' } },
} as const;
export const IF_NONE_MATCH = { 'If-None-Match': { description: 'The ETag that the client has.' } } as const;

/** Shared caches may store the answer, but must revalidate it each time: the next release has another document. */
export async function sendKept(
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
