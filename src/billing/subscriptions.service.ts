import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { BadRequest, Conflict, NotFound } from '../platform/http/index.js';
import { currentState, lockBilling, overwrite } from './event-log.js';
import { FREE, type SubscriptionState, TRIAL_MS } from './subscription-state.js';
import { subscriptionStatements } from './subscription.queries.js';
import { type SubscriptionStatus, transition } from './transitions.js';

/** A subscription after a status was set by hand. @throws BadRequest for a trial without an end ahead */
function granted(
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

/** A user's subscription as it stands now. */
export type Subscription = Omit<SubscriptionState, 'pastDueSince' | 'subscriptionId'>;

/** The same for those who look after the service. */
export interface SubscriptionDetails extends SubscriptionState {
  /** Whether the user may use what needs an active subscription. */
  readonly isActive: boolean;
}

/** Everybody's subscription with SUBSCRIPTIONS=off. */
const ALWAYS_ACTIVE: SubscriptionState = { ...FREE, plan: 'pro', status: 'active' };

@Injectable()
export class Subscriptions {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Everybody is active then, for good. */
  get isOff(): boolean {
    return !this.configuration.hasSubscriptions;
  }

  /** For how many days a subscription that is past due stays active. */
  get graceDays(): number {
    return this.configuration.billingGraceDays;
  }

  async of(userId: string): Promise<Subscription> {
    if (this.isOff) return ALWAYS_ACTIVE;
    const values = [userId, this.clock.now()];
    const [row] = await this.database.run<Subscription>(subscriptionStatements.find, values);
    return row ?? FREE;
  }

  async describe(userId: string): Promise<SubscriptionDetails> {
    if (this.isOff) return { ...ALWAYS_ACTIVE, isActive: true };
    const values = [userId, this.clock.now(), this.graceDays];
    const [row] = await this.database.run<SubscriptionDetails>(subscriptionStatements.describe, values);
    return row ?? { ...FREE, isActive: false };
  }

  /** Whether the user may use what needs an active subscription. Asked anew each time: every instance knows at once. */
  async isActive(userId: string): Promise<boolean> {
    if (this.isOff) return true;
    const values = [userId, this.clock.now(), this.graceDays];
    const [row] = await this.database.run<{ isActive: boolean }>(subscriptionStatements.isActive, values);
    return row?.isActive ?? false;
  }

  /** Whether the user has bought a subscription that goes on. */
  async isBought(userId: string): Promise<boolean> {
    const values = [userId, this.clock.now()];
    const [row] = await this.database.run<{ isBought: boolean }>(subscriptionStatements.isBought, values);
    return row?.isBought ?? false;
  }

  /** Starts the 30-day trial, once per user ever; during the trial it answers the same again. @throws Conflict */
  async startTrial(userId: string): Promise<Subscription> {
    if (this.isOff) throw new Conflict('subscriptions are switched off: every user is active');
    const now = this.clock.now();
    const trialEnd = new Date(now.getTime() + TRIAL_MS);
    await this.change(userId, now, (state) => {
      const status = state.trialStart ? undefined : transition(state.status, 'trial_started');
      return status && { ...state, plan: 'pro', status, trialStart: now, trialEnd };
    });
    const subscription = await this.of(userId);
    if (subscription.status !== 'trial')
      throw new Conflict('the trial can be started once, from the free plan');
    return subscription;
  }

  /**
   * Sets a status by hand, for the admin command; `until` ends a trial, or the period for which it is granted. What the
   * provider has a subscription for goes on until the provider ends it. @throws BadRequest
   */
  async grant(userId: string, status: SubscriptionStatus, until: Date | null): Promise<Subscription> {
    const now = this.clock.now();
    await this.change(userId, now, (state) => granted(state, status, until, now));
    return this.of(userId);
  }

  /** What `grant` would make of it. @throws BadRequest */
  async previewGrant(userId: string, status: SubscriptionStatus, until: Date | null): Promise<Subscription> {
    const state = await this.describe(userId);
    const after = granted(state, status, until, this.clock.now());
    const { plan, trialStart, trialEnd, currentPeriodEnd, cancelAtPeriodEnd } = after;
    return { plan, status, trialStart, trialEnd, currentPeriodEnd, cancelAtPeriodEnd };
  }

  /** Writes `expired` where a trial or a grant has run out, which reads so already. Returns how many there were. */
  async expire(now: Date): Promise<number> {
    return (await this.database.run(subscriptionStatements.expire, [now])).length;
  }

  /** How many `expire` would write. */
  async countExpirable(now: Date): Promise<number> {
    const [row] = await this.database.run<{ subscriptions: number }>(subscriptionStatements.countExpirable, [
      now,
    ]);
    return row?.subscriptions ?? 0;
  }

  /** Sets what `decide` makes of the subscription, if anything, while no event can come in between. @throws NotFound */
  private change(
    userId: string,
    now: Date,
    decide: (state: SubscriptionState) => SubscriptionState | undefined,
  ): Promise<void> {
    return this.database.transaction(async (tx) => {
      if (!(await lockBilling(tx, { customerId: null, userId }))) throw new NotFound('user not found');
      const state = decide(await currentState(tx, userId));
      if (state) await overwrite(tx, userId, state, now);
    });
  }
}
