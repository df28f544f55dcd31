import { SetMetadata } from '@nestjs/common';
import type { Scope } from '../auth/index.js';

export const REQUIRES_SUBSCRIPTION = 'requires-subscription';

export interface SubscriptionRequirement {
  readonly unless?: Scope;
}

/**
 * The route needs an active subscription (402 otherwise).
 * @param unless a token to which this scope was given by name needs none; `full` is not by name
 */
export const RequiresSubscription = (unless?: Scope): MethodDecorator & ClassDecorator =>
  SetMetadata(REQUIRES_SUBSCRIPTION, { unless } satisfies SubscriptionRequirement);
