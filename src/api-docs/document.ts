import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';
import type { ApiDocument, Operation } from './api-document.js';
import { type ControllerDocs, docsOf, type OperationDocs } from './documented.js';
import { Components, type OperationPolicy } from './operation-parts.js';
import { operationOf } from './operation.js';
import { bodyClassOf, loadSchemaOfClass } from './request-body.js';
import { COMMON_HEADERS } from './responses.js';
import { ERROR, type Schema } from './schema.js';

export type Handler = () => unknown;
export type ControllerClass = abstract new (...args: never[]) => object;

interface ControllerRoute {
  /** The name of the handler. */
  readonly name: string;
  readonly handler: Handler;
  /** In lower case. */
  readonly method: string;
  /** With the parameters in braces; a wildcard `*` becomes `path`. */
  readonly path: string;
}

const scanner = new MetadataScanner();

/** The routes of a controller, from the framework's own metadata. */
function routesOf(controller: ControllerClass): ControllerRoute[] {
  const prototype = controller.prototype as Record<string, Handler>;
  return scanner.getAllMethodNames(prototype).flatMap((name) => {
    const handler = prototype[name];
    if (!handler || !Reflect.hasMetadata(PATH_METADATA, handler)) return [];
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? '';
    const path = template(pathOf(controller), pathOf(handler));
    return [{ name, handler, method: method.toLowerCase(), path }];
  });
}

const pathOf = (target: object): string => Reflect.getMetadata(PATH_METADATA, target) as string;

function template(...parts: string[]): string {
  const segments = parts.join('/').split('/').filter(Boolean);
  return `/${segments.map((segment) => segment.replace(/^:(.*)/, '{$1}').replace(/^\*$/, '{path}')).join('/')}`;
}

export interface DocumentParts {
  readonly controllers: readonly ControllerClass[];
  readonly info: ApiDocument['info'];
  readonly tags: ApiDocument['tags'];
  readonly securitySchemes: Readonly<Record<string, Schema>>;
  /** The access policy of a route, from its decorators. */
  readonly policyOf: (handler: Handler, controller: ControllerClass) => OperationPolicy;
  /** The parameter decorator with which handlers read their JSON bodies. */
  readonly jsonBody: unknown;
}

/** The OpenAPI 3.1 document of the controllers. @throws Error for a route without documentation */
export async function buildDocument(parts: DocumentParts): Promise<ApiDocument> {
  const schemaOfClass = await loadSchemaOfClass();
  const components = new Components();
  components.refer(ERROR);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const controller of parts.controllers) {
    const docs = docsOf(controller);
    for (const route of routesOf(controller)) {
      const body = bodyClassOf(controller, route.name, parts.jsonBody);
      for (const { method, path, name, operation } of described(route, controller, docs)) {
        const schema = body && schemaOfClass(body.bodyClass, operation.properties);
        (paths[path] ??= {})[method] = operationOf({
          path,
          name,
          operation,
          components,
          tag: docs?.tag ?? '',
          isPage: docs?.isPage === true,
          policy: parts.policyOf(route.handler, controller),
          body: body && schema && { schema, limit: body.limit },
        });
      }
    }
  }
  const { info, tags, securitySchemes } = parts;
  const schemas = sorted(components.schemas);
  return {
    openapi: '3.1.1',
    info,
    servers: [{ url: '/' }],
    tags,
    paths: sorted(paths),
    components: { schemas, headers: COMMON_HEADERS, securitySchemes },
  };
}

interface Described {
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly operation: OperationDocs;
}

/** The operation of a route, or the operations mounted at it. */
function described(
  { name, method, path }: { name: string; method: string; path: string },
  controller: ControllerClass,
  docs: ControllerDocs | undefined,
): Described[] {
  const of = docs?.operations[name];
  if (!of) throw new Error(`${controller.name}.${name} is not described`);
  const group = controller.name.replace(/Controller$/, '');
  if (!('mounted' in of)) return [{ method, path, name: `${group}.${name}`, operation: of }];
  return Object.entries(of.mounted).map(([action, operation]) => {
    const [verb = '', below = ''] = action.split(' ');
    const rest = path.replace(/\{[^}]*\}$/, below);
    return { method: verb.toLowerCase(), path: rest, name: `${group}.${below}`, operation };
  });
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
