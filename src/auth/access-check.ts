import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { ACCESS } from './access.js';

/** Deny by default, at boot: a handler that declares no access policy stops the start. */
@Injectable()
export class AccessCheck implements OnApplicationBootstrap {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onApplicationBootstrap(): void {
    const open = this.discovery.getControllers().flatMap(({ instance, metatype }) => {
      if (!instance || !metatype) return [];
      const prototype = Object.getPrototypeOf(instance) as Record<string, () => unknown>;
      return this.scanner
        .getAllMethodNames(prototype)
        .map((name) => ({ name: `${metatype.name}.${name}`, handler: prototype[name] }))
        .filter(({ handler }) => handler && Reflect.hasMetadata(PATH_METADATA, handler))
        .filter(
          ({ handler }) =>
            !this.reflector.getAllAndOverride(ACCESS, [handler as () => unknown, metatype as never]),
        )
        .map(({ name }) => name);
    });
    if (open.length > 0) throw new Error(`Routes without an access policy: ${open.join(', ')}`);
  }
}
