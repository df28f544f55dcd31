import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog, BY_OPERATOR } from '../auth/audit/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { BadRequest, Conflict, NotFound } from '../../platform/http/index.js';
import { subscriptionStatements } from './billing.queries.js';
import { currentState, lockBilling, overwrite } from './event-log.js';
import {
  FREE,
  type SubscriptionState,
  type SubscriptionStatus,
  transition,
  TRIAL_MS,
} from './subscription-state.js';

/** The subscription after a status is set manually. @throws BadRequest for a trial whose end is not in the future */
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

function termsOf(state: SubscriptionState): Subscription {
  const { plan, status, trialStart, trialEnd, currentPeriodEnd, cancelAtPeriodEnd } = state;
  return { plan, status, trialStart, trialEnd, currentPeriodEnd, cancelAtPeriodEnd };
}

/** The statuses in which the provider continues to charge a subscription. */
const CONTINUED: ReadonlySet<SubscriptionStatus> = new Set(['trial', 'active', 'past_due']);

/** A user's current subscription. */
export type Subscription = Omit<SubscriptionState, 'pastDueSince' | 'subscriptionId'>;

/** The subscription with details for operators. */
export interface SubscriptionDetails extends SubscriptionState {
  /** Whether the user may use features that need an active subscription. */
  readonly isActive: boolean;
}

/** Every user's subscription with SUBSCRIPTIONS=off. */
const ALWAYS_ACTIVE: SubscriptionState = { ...FREE, plan: 'pro', status: 'active' };

@Injectable()
export class Subscriptions {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /** Whether subscriptions are switched off; then every user is active, without an end. */
  get isOff(): boolean {
    return !this.configuration.hasSubscriptions;
  }

  /** The number of days for which a past-due subscription stays active. */
  get graceDays(): number {
    return this.configuration.billingGraceDays;
  }

  async of(userId: string): Promise<Subscription> {
    if (this.isOff) return ALWAYS_ACTIVE;
    return termsOf(await this.describe(userId));
  }

  async describe(userId: string): Promise<SubscriptionDetails> {
    if (this.isOff) return { ...ALWAYS_ACTIVE, isActive: true };
    const values = [userId, this.clock.now(), this.graceDays];
    const [row] = await this.database.run<SubscriptionDetails>(subscriptionStatements.describe, values);
    return row ?? { ...FREE, isActive: false };
  }

  /**
   * Whether the user may use features that need an active subscription. Read on each call, so changes apply at once on every
   * instance.
   */
  async isActive(userId: string): Promise<boolean> {
    return (await this.describe(userId)).isActive;
  }

  /** Whether the user has bought a subscription that continues. */
  async isBought(userId: string): Promise<boolean> {
    const { subscriptionId, status } = await this.describe(userId);
    return subscriptionId !== null && CONTINUED.has(status);
  }

  /** Starts the 30-day trial, once per user ever; during the trial it returns the same result again. @throws Conflict */
  async startTrial(userId: string): Promise<Subscription> {
    if (this.isOff) throw new Conflict('subscriptions are disabled: every user is active');
    const now = this.clock.now();
    const trialEnd = new Date(now.getTime() + TRIAL_MS);
    await this.change(userId, now, (state) => {
      const status = state.trialStart ? undefined : transition(state.status, 'trial_started');
      return status && { ...state, plan: 'pro', status, trialStart: now, trialEnd };
    });
    const subscription = await this.of(userId);
    if (subscription.status !== 'trial')
      throw new Conflict('the trial can be started only once, and only from the free plan');
    return subscription;
  }

  /**
   * Sets a status manually, for the admin command; `until` is the end of a trial, or of the granted period. A subscription at the
   * provider continues until the provider ends it. @throws BadRequest
   */
  async grant(
    userId: string,
    status: SubscriptionStatus,
    until: Date | null,
    by: Acting = BY_OPERATOR,
  ): Promise<Subscription> {
    const now = this.clock.now();
    const details = { status, ...(until ? { until: until.toISOString() } : {}) };
    await this.change(
      userId,
      now,
      (state) => granted(state, status, until, now),
      (tx) => this.audit.record({ action: 'plan.granted', userId, ...by, details }, tx),
    );
    return this.of(userId);
  }

  /** What `grant` would change the subscription to. @throws BadRequest */
  async previewGrant(userId: string, status: SubscriptionStatus, until: Date | null): Promise<Subscription> {
    return termsOf(granted(await this.describe(userId), status, until, this.clock.now()));
  }

  /** Stores `expired` where a trial or a grant has expired, which is already reported. Returns the number of rows. */
  async expire(now: Date): Promise<number> {
    return (await this.database.run(subscriptionStatements.expire, [now])).length;
  }

  /** How many rows `expire` would update. */
  async countExpirable(now: Date): Promise<number> {
    const [row] = await this.database.run<{ subscriptions: number }>(subscriptionStatements.countExpirable, [
      now,
    ]);
    return row?.subscriptions ?? 0;
  }

  /** Stores the result of `decide`, if any, under the billing lock, so that no event intervenes. @throws NotFound */
  private change(
    userId: string,
    now: Date,
    decide: (state: SubscriptionState) => SubscriptionState | undefined,
    note: (tx: Tx) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    return this.database.transaction(async (tx) => {
      if (!(await lockBilling(tx, { customerId: null, userId }))) throw new NotFound('user not found');
      const state = decide(await currentState(tx, userId));
      if (!state) return;
      await overwrite(tx, userId, state, now);
      await note(tx);
    });
  }
}
