import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';

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
export function routesOf(controller: ControllerClass): ControllerRoute[] {
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
