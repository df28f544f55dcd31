import type { SubscriptionStatus } from './transitions.js';

/** The length of the service's own trial, and of a provider's trial whose end is unknown. */
export const TRIAL_MS = 30 * 24 * 60 * 60_000;

/** Everything that events decide about a user's subscription. */
export interface SubscriptionState {
  readonly plan: string;
  readonly status: SubscriptionStatus;
  readonly trialStart: Date | null;
  readonly trialEnd: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  /** The start of the current uninterrupted past-due period; the grace period begins here. */
  readonly pastDueSince: Date | null;
  /** The provider's current subscription; null for the service's own trial and for manual grants. */
  readonly subscriptionId: string | null;
}

/** A user without a row. */
export const FREE: SubscriptionState = {
  plan: 'free',
  status: 'free',
  trialStart: null,
  trialEnd: null,
  currentPeriodEnd: null,
  cancelAtPeriodEnd: false,
  pastDueSince: null,
  subscriptionId: null,
};

/** A state as JSON: times are ISO 8601. */
export type StoredState = {
  readonly [Key in keyof SubscriptionState]: SubscriptionState[Key] extends Date | null
    ? string | null
    : SubscriptionState[Key];
};

export function stateFromJson(stored: StoredState): SubscriptionState {
  return {
    ...stored,
    trialStart: time(stored.trialStart),
    trialEnd: time(stored.trialEnd),
    currentPeriodEnd: time(stored.currentPeriodEnd),
    pastDueSince: time(stored.pastDueSince),
  };
}

const time = (text: string | null): Date | null => (text === null ? null : new Date(text));

export function isSameState(a: SubscriptionState, b: SubscriptionState): boolean {
  const keys = Object.keys(FREE) as (keyof SubscriptionState)[];
  return keys.every((key) => a[key]?.valueOf() === b[key]?.valueOf());
}
