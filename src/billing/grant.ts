import { BadRequest } from '../platform/http/index.js';
import type { SubscriptionState } from './subscription-state.js';
import type { SubscriptionStatus } from './transitions.js';

/** A subscription after a status was set by hand. @throws BadRequest for a trial without an end ahead */
export function granted(
  state: SubscriptionState,
  status: SubscriptionStatus,
  until: Date | null,
  now: Date,
): SubscriptionState {
  if (status === 'trial' && !(until && until > now))
    throw new BadRequest('a trial needs an end in the future');
  return {
    ...state,
    ...(status === 'trial' ? { trialStart: now, trialEnd: until } : {}),
    plan: status === 'free' ? 'free' : 'pro',
    status,
    currentPeriodEnd: until,
    cancelAtPeriodEnd: false,
    pastDueSince: status === 'past_due' ? now : null,
  };
}
