export const STATUSES = ['free', 'trial', 'active', 'past_due', 'cancelled', 'expired'] as const;
export type SubscriptionStatus = (typeof STATUSES)[number];

/** The statuses of a subscription in the payment provider's created and updated events. */
export const PROVIDER_STATUSES = [
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'canceled',
  'incomplete',
  'incomplete_expired',
  'paused',
] as const;
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number];

/** The content of a payment provider's event: the status after creation or update, the deletion, or a failed payment. */
export type ProviderCause = ProviderStatus | 'deleted' | 'payment_failed';

/**
 * What changes a subscription's status: the service's own trial, the end of a manual grant, or an event of the payment provider.
 */
export type Cause = 'trial_started' | 'trial_ended' | 'grant_ended' | ProviderCause;

const fromAny = (to: SubscriptionStatus): Record<SubscriptionStatus, SubscriptionStatus> => ({
  free: to,
  trial: to,
  active: to,
  past_due: to,
  cancelled: to,
  expired: to,
});

/**
 * The whole state table; without an entry, the cause changes nothing. docs/reference/subscription-states.md is printed from it.
 */
export const TRANSITIONS: Readonly<
  Record<Cause, Readonly<Partial<Record<SubscriptionStatus, SubscriptionStatus>>>>
> = {
  trial_started: { free: 'trial' },
  trial_ended: { trial: 'expired' },
  grant_ended: { active: 'expired' },
  trialing: fromAny('trial'),
  active: fromAny('active'),
  past_due: fromAny('past_due'),
  unpaid: fromAny('past_due'),
  canceled: fromAny('cancelled'),
  incomplete: {},
  incomplete_expired: fromAny('expired'),
  paused: fromAny('expired'),
  deleted: fromAny('cancelled'),
  payment_failed: { trial: 'past_due', active: 'past_due', past_due: 'past_due' },
};

export const CAUSES = Object.keys(TRANSITIONS) as Cause[];

/** The status after `cause`; undefined when it changes nothing. */
export function transition(from: SubscriptionStatus, cause: Cause): SubscriptionStatus | undefined {
  return TRANSITIONS[cause][from];
}
