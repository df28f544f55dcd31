import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { AuthenticatedRequest } from './access.js';
import { GeneralLimit } from './general-limit.js';

export const UNLIMITED = 'unlimited';

/** The route is never refused for being asked too often. */
export const Unlimited = (): MethodDecorator & ClassDecorator => SetMetadata(UNLIMITED, true);

/** 429. Who has no valid token is counted by `AuthenticationGuard`. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limit: GeneralLimit,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(UNLIMITED, targets)) return true;
    const request = context.switchToHttp().getRequest<Partial<AuthenticatedRequest> & { ip: string }>();
    await this.limit.count(request.principal ?? request);
    return true;
  }
}
