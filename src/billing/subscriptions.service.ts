import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { BadRequest, Conflict } from '../platform/http/index.js';
import { subscriptionStatements } from './subscription.queries.js';

const TRIAL_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

export const STATUSES = ['free', 'trial', 'active', 'past_due', 'cancelled', 'expired'] as const;
export type SubscriptionStatus = (typeof STATUSES)[number];

/** A user's subscription as it stands now. */
export interface Subscription {
  readonly plan: string;
  readonly status: SubscriptionStatus;
  readonly trialStart: Date | null;
  readonly trialEnd: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
}

const FREE: Subscription = {
  plan: 'free',
  status: 'free',
  trialStart: null,
  trialEnd: null,
  currentPeriodEnd: null,
  cancelAtPeriodEnd: false,
};

/** With SUBSCRIPTIONS=off everybody has this one. */
const UNLIMITED: Subscription = { ...FREE, plan: 'pro', status: 'active' };

@Injectable()
export class Subscriptions {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async of(userId: string): Promise<Subscription> {
    if (this.isOff) return UNLIMITED;
    const [row] = await this.database.run<Subscription>(subscriptionStatements.find, [
      userId,
      this.clock.now(),
    ]);
    return row ?? FREE;
  }

  /** Whether the user may use what needs an active subscription. */
  async isActive(userId: string): Promise<boolean> {
    if (this.isOff) return true;
    const { billingGraceDays } = this.configuration;
    const values = [userId, this.clock.now(), billingGraceDays];
    const [row] = await this.database.run<{ isActive: boolean }>(subscriptionStatements.isActive, values);
    return row?.isActive ?? false;
  }

  /** Starts the 30-day trial, once per user ever; during the trial it answers the same again. @throws Conflict */
  async startTrial(userId: string): Promise<Subscription> {
    if (this.isOff) throw new Conflict('subscriptions are switched off: every user is active');
    const now = this.clock.now();
    const end = new Date(now.getTime() + TRIAL_DAYS * DAY_MS);
    await this.database.run(subscriptionStatements.startTrial, [userId, now, end]);
    const subscription = await this.of(userId);
    if (subscription.status !== 'trial')
      throw new Conflict('the trial can be started once, from the free plan');
    return subscription;
  }

  /** Sets a status by hand, for the admin command; `until` ends a trial or a paid period. @throws BadRequest */
  async grant(userId: string, status: SubscriptionStatus, until: Date | null): Promise<Subscription> {
    const now = this.clock.now();
    if (status === 'trial' && !(until && until > now))
      throw new BadRequest('a trial needs an end in the future');
    await this.database.run(subscriptionStatements.grant, [userId, status, until, now]);
    return this.of(userId);
  }

  private get isOff(): boolean {
    return this.configuration.subscriptions === 'off';
  }
}
