import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';
import {
  type ControllerDocs,
  docsOf,
  ERROR,
  type Examples,
  isOfPages,
  type OperationDocs,
  type Schema,
} from './documented.js';
import { type ApiDocument, Components, type Operation, type OperationPolicy } from './operation-parts.js';
import { bodyClassOf, COMMON_HEADERS, loadSchemaOfClass, operationOf } from './operation.js';

export type Handler = () => unknown;
export type ControllerClass = abstract new (...args: never[]) => object;

interface ControllerRoute {
  readonly name: string;
  readonly handler: Handler;
  /** Which of the paths of the handler it is, from 0. */
  readonly index: number;
  /** In lower case. */
  readonly method: string;
  /** With the parameters in braces; a wildcard `*` becomes `path`. */
  readonly path: string;
}

const scanner = new MetadataScanner();

/** The routes of a controller, from the framework's own metadata. */
export function routesOf(controller: ControllerClass): ControllerRoute[] {
  const prototype = controller.prototype as Record<string, Handler>;
  return scanner.getAllMethodNames(prototype).flatMap((name) => {
    const handler = prototype[name];
    if (!handler || !Reflect.hasMetadata(PATH_METADATA, handler)) return [];
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? '';
    return pathsOf(handler).map((path, index) => ({
      name,
      handler,
      index,
      method: method.toLowerCase(),
      path: template(...pathsOf(controller), path),
    }));
  });
}

/** One, or several of a handler. */
const pathsOf = (target: object): string[] =>
  [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat();

function template(...parts: string[]): string {
  const segments = parts.join('/').split('/').filter(Boolean);
  return `/${segments.map((segment) => segment.replace(/^:(.*)/, '{$1}').replace(/^\*$/, '{path}')).join('/')}`;
}

export interface DocumentParts {
  readonly controllers: readonly ControllerClass[];
  readonly info: ApiDocument['info'];
  readonly tags: ApiDocument['tags'];
  readonly securitySchemes: Readonly<Record<string, Schema>>;
  readonly policyOf: (handler: Handler, controller: ControllerClass) => OperationPolicy;
  /** Whether this is the document of the pages instead of the API. */
  readonly ofPages: boolean;
  readonly examples: Examples;
  /** Tag → the first part of its operationIds, where that is not the tag in camel case. */
  readonly groups: Readonly<Record<string, string>>;
}

/** The OpenAPI 3.1 document of the controllers. @throws Error for a route without documentation, or an example without a route */
export async function buildDocument(parts: DocumentParts): Promise<ApiDocument> {
  const schemaOfClass = await loadSchemaOfClass();
  const components = new Components();
  components.refer(ERROR);
  const paths: Record<string, Record<string, Operation>> = {};
  const unused = new Set(Object.keys(parts.examples));
  const secretHeaders = secretHeadersOf(parts.securitySchemes);
  for (const controller of parts.controllers) {
    const docs = docsOf(controller);
    if (docs && isOfPages(docs) !== parts.ofPages) continue;
    for (const route of routesOf(controller)) {
      const body = bodyClassOf(controller, route.name);
      for (const { method, path, name, operation } of described(route, controller, docs)) {
        const schema = body && schemaOfClass(body.bodyClass, operation.properties);
        const tag = operation.tag ?? docs?.tag ?? '';
        const id = operation.id ?? idOf(tag, name, controller, parts);
        unused.delete(id);
        (paths[path] ??= {})[method] = operationOf({
          ...{ path, id, tag, operation, components, secretHeaders },
          isPage: docs?.isPage === true,
          policy: parts.policyOf(route.handler, controller),
          body: body && schema && { schema, limit: body.limit },
          example: parts.examples[id],
        });
      }
    }
  }
  if (unused.size > 0) throw new Error(`examples without an operation: ${[...unused].join(', ')}`);
  return {
    openapi: '3.1.1',
    info: parts.info,
    servers: [{ url: '/' }],
    tags: usedOf(parts.tags, paths),
    paths: sorted(paths),
    components: {
      schemas: sorted(components.schemas),
      headers: COMMON_HEADERS,
      securitySchemes: parts.ofPages ? {} : parts.securitySchemes,
    },
  };
}

function usedOf(
  tags: ApiDocument['tags'],
  paths: Record<string, Record<string, Operation>>,
): ApiDocument['tags'] {
  const used = new Set(
    Object.values(paths).flatMap((methods) => Object.values(methods).flatMap((one) => one.tags)),
  );
  return tags.filter(({ name }) => used.has(name));
}

/** Operations of pages are named after their handlers, because no client is generated from them. */
function idOf(
  tag: string,
  name: string,
  controller: ControllerClass,
  { ofPages, groups }: DocumentParts,
): string {
  if (ofPages) return `${controller.name.replace(/Controller$/, '')}.${name}`;
  return `${groups[tag] ?? camelCase(tag)}.${camelCase(name)}`;
}

/** `Access tokens` → `accessTokens`, `sign-out` → `signOut`. */
const camelCase = (text: string): string =>
  text
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase());

function secretHeadersOf(schemes: DocumentParts['securitySchemes']): Map<string, string> {
  const inHeaders = Object.entries(schemes).filter(([, scheme]) => scheme['in'] === 'header');
  return new Map(inHeaders.map(([name, scheme]) => [scheme['name'] as string, name]));
}

interface Described {
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly operation: OperationDocs;
}

/** The operation of a route, or the operations mounted at it. */
function described(
  { name, method, path, index }: ControllerRoute,
  controller: ControllerClass,
  docs: ControllerDocs | undefined,
): Described[] {
  const of = docs?.operations[name];
  if (!of) throw new Error(`${controller.name}.${name} is not described`);
  if (!('mounted' in of))
    return [{ method, path, name: index === 0 ? name : `${name}${index + 1}`, operation: of }];
  return Object.entries(of.mounted).map(([action, operation]) => {
    const [verb = '', below = ''] = action.split(' ');
    return { method: verb.toLowerCase(), path: path.replace(/\{[^}]*\}$/, below), name: below, operation };
  });
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
