import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { AuthenticatedRequest } from '../auth/index.js';
import { PaymentRequired } from '../platform/http/index.js';
import { Subscriptions } from './subscriptions.service.js';

const REQUIRES_SUBSCRIPTION = 'requires-subscription';

/** The route needs an active subscription (402 otherwise). */
export const RequiresSubscription = (): MethodDecorator & ClassDecorator =>
  SetMetadata(REQUIRES_SUBSCRIPTION, true);

/** Fourth of the global guards. */
@Injectable()
export class SubscriptionGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly subscriptions: Subscriptions,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (!this.reflector.getAllAndOverride<boolean | undefined>(REQUIRES_SUBSCRIPTION, targets)) return true;
    const { principal } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    if (await this.subscriptions.isActive(principal.userId)) return true;
    throw new PaymentRequired();
  }
}
