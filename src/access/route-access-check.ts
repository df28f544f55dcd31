import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { ACCESS, type Access, BOUND_TOKENS_TOO, OWNED_WORKSPACE, UNBOUND } from './route-access.js';

interface Handler {
  readonly name: string;
  /** The metadata of the handler or its controller; undefined when neither declares it. */
  readonly declared: (key: string) => unknown;
}

/**
 * Deny by default, at boot: the start fails for a handler without an access policy, and for a bearer route that names no
 * workspace and does not declare how it treats tokens bound to a workspace.
 */
@Injectable()
export class RouteAccessCheck implements OnApplicationBootstrap {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onApplicationBootstrap(): void {
    const handlers = this.handlers();
    const open = handlers.filter(({ declared }) => !declared(ACCESS));
    if (open.length > 0) throw new Error(`Routes without an access policy: ${namesOf(open)}`);
    const unclear = handlers.filter(isUnclear);
    if (unclear.length > 0)
      throw new Error(
        `Routes that do not declare how they treat tokens bound to a workspace: ${namesOf(unclear)}`,
      );
  }

  private handlers(): Handler[] {
    return this.discovery.getControllers().flatMap(({ instance, metatype }) => {
      if (!instance || !metatype) return [];
      const prototype = Object.getPrototypeOf(instance) as Record<string, () => unknown>;
      return this.scanner.getAllMethodNames(prototype).flatMap((name): Handler[] => {
        const handler = prototype[name];
        if (!handler || !Reflect.hasMetadata(PATH_METADATA, handler)) return [];
        const declared = (key: string): unknown =>
          this.reflector.getAllAndOverride<unknown>(key, [handler, metatype as never]);
        return [{ name: `${metatype.name}.${name}`, declared }];
      });
    });
  }
}

const namesOf = (handlers: readonly Handler[]): string => handlers.map(({ name }) => name).join(', ');

/** On routes with `OwnedWorkspace` the last guard compares a bound token with the workspace. */
const isUnclear = ({ declared }: Handler): boolean =>
  (declared(ACCESS) as Access).kind === 'bearer' &&
  ![UNBOUND, BOUND_TOKENS_TOO, OWNED_WORKSPACE].some(declared);
