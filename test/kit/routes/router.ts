import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  ACCESS,
  type Access,
  OwnedWorkspace,
  REQUIRES_SUBSCRIPTION,
  type Scope,
  SEES_DELETED_USERS,
  UNBOUND,
  Unlimited,
} from '../../../src/access/route-access.js';
import type { Route } from './route-table.js';

export interface RouterEntry {
  readonly method: string;
  readonly path: string;
}

/**
 * Every route of a Fastify server started by `start`, including routes beside Nest and its guards.
 * Fastify announces its instances before they have any route.
 */
export async function routesOf<T>(start: () => Promise<T>): Promise<{ started: T; entries: RouterEntry[] }> {
  const entries: RouterEntry[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) entries.push({ method: one, path: url });
    });
  };
  subscribe('fastify.initialization', watch);
  try {
    return { started: await start(), entries };
  } finally {
    unsubscribe('fastify.initialization', watch);
  }
}

/** The parts of a row that a handler declares by decorators. */
export interface Policy extends Pick<Route, 'method' | 'path' | 'access'> {
  readonly needsSubscription: true | undefined;
  readonly unlessGranted: Scope | undefined;
  readonly ownsWorkspace: true | undefined;
  readonly isUnbound: true | undefined;
  readonly isUnlimited: true | undefined;
  readonly seesDeletedUsers: true | undefined;
}

/** The declarations of the handlers, as rows of the table. */
export function declaredPolicies(app: NestFastifyApplication): Policy[] {
  const scanner = app.get(MetadataScanner, { strict: false });
  const controllers = app.get(DiscoveryService, { strict: false }).getControllers();
  return controllers.flatMap(({ instance, metatype }) => {
    const prototype = Object.getPrototypeOf(instance) as Record<string, Handler>;
    return scanner
      .getAllMethodNames(prototype)
      .map((name) => prototype[name]!)
      .filter((handler) => Reflect.hasMetadata(PATH_METADATA, handler))
      .flatMap((handler) => policiesOf(handler, metatype as Handler));
  });
}

type Handler = () => unknown;

const reflector = new Reflector();

/** A handler may have several paths. */
function policiesOf(handler: Handler, controller: Handler): Policy[] {
  const targets = [handler, controller];
  const flag = (key: string): true | undefined => reflector.getAllAndOverride(key, targets);
  const subscription = reflector.getAllAndOverride<{ unless?: Scope } | undefined>(
    REQUIRES_SUBSCRIPTION,
    targets,
  );
  const access = reflector.getAllAndOverride<Access | undefined>(ACCESS, targets);
  return pathsOf(handler).map((path) => ({
    method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] as Route['method'],
    path: joined(...pathsOf(controller), path),
    access: access?.kind === 'bearer' ? access.scopes : (access?.kind as Route['access']),
    needsSubscription: subscription && true,
    unlessGranted: subscription?.unless,
    ownsWorkspace: flag(keyOf(OwnedWorkspace())),
    isUnbound: flag(UNBOUND),
    isUnlimited: flag(keyOf(Unlimited())),
    seesDeletedUsers: flag(SEES_DELETED_USERS),
  }));
}

const pathsOf = (target: Handler): string[] =>
  [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat();

const joined = (...parts: string[]): string => `/${parts.join('/').split('/').filter(Boolean).join('/')}`;

/** The metadata key of a decorator. */
function keyOf(decorator: ClassDecorator): string {
  class Probe {}
  decorator(Probe);
  return Reflect.getMetadataKeys(Probe)[0] as string;
}
