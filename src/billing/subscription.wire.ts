import type { Subscription } from './subscriptions.service.js';

/** Subscription info as the contract has it; times are ISO 8601. */
export interface SubscriptionWire {
  plan: string;
  status: string;
  trialStartDate: string | null;
  trialEndDate: string | null;
  currentPeriodEnd: string | null;
  cancelAtPeriodEnd: boolean;
}

export function subscriptionWire(subscription: Subscription): SubscriptionWire {
  return {
    plan: subscription.plan,
    status: subscription.status,
    trialStartDate: subscription.trialStart?.toISOString() ?? null,
    trialEndDate: subscription.trialEnd?.toISOString() ?? null,
    currentPeriodEnd: subscription.currentPeriodEnd?.toISOString() ?? null,
    cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
  };
}
