import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { ACCESS, type Access, BOUND_TOKENS_TOO, UNBOUND } from './access.js';

interface Handler {
  readonly name: string;
  /** The metadata of the handler or its controller; undefined when neither declares it. */
  readonly declared: (key: string) => unknown;
}

/**
 * Deny by default, at boot: a handler that declares no access policy stops the start. So does one for bearers that names no
 * workspace and does not say what it is to tokens that are bound to one.
 */
@Injectable()
export class AccessCheck implements OnApplicationBootstrap {
  /** The metadata of routes whose workspace a guard holds the token to. */
  private readonly namesWorkspace = new Set<string>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** The module whose guard holds tokens to the workspace that a route names tells how such routes are marked, at set-up. */
  addWorkspaceMark(key: string): void {
    this.namesWorkspace.add(key);
  }

  onApplicationBootstrap(): void {
    const handlers = this.handlers();
    const open = handlers.filter(({ declared }) => !declared(ACCESS));
    if (open.length > 0) throw new Error(`Routes without an access policy: ${namesOf(open)}`);
    const unclear = handlers.filter((handler) => this.isUnclear(handler));
    if (unclear.length > 0)
      throw new Error(
        `Routes that do not say what they are to tokens bound to a workspace: ${namesOf(unclear)}`,
      );
  }

  private isUnclear({ declared }: Handler): boolean {
    if ((declared(ACCESS) as Access).kind !== 'bearer') return false;
    return ![UNBOUND, BOUND_TOKENS_TOO, ...this.namesWorkspace].some(declared);
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
