import { Column, Entity, PrimaryColumn } from 'typeorm';
import { stateFromJson, type StoredState, type SubscriptionState } from './subscription-state.js';
import type { SubscriptionStatus } from './transitions.js';

/** The current state of a user's subscription. A user without a row has the free plan. */
@Entity('subscriptions')
export class SubscriptionEntity {
  @PrimaryColumn('uuid')
  userId: string;

  @Column('text')
  plan: string;

  /** As stored: a trial or a grant may have ended since. */
  @Column('text')
  status: SubscriptionStatus;

  @Column('timestamptz', { nullable: true })
  trialStart: Date | null;

  @Column('timestamptz', { nullable: true })
  trialEnd: Date | null;

  @Column('timestamptz', { nullable: true })
  currentPeriodEnd: Date | null;

  @Column('boolean')
  cancelAtPeriodEnd: boolean;

  @Column('timestamptz', { nullable: true })
  pastDueSince: Date | null;

  @Column('timestamptz')
  updatedAt: Date;

  /** Null for the service's own trial and for grants. */
  @Column('text', { nullable: true })
  providerSubscriptionId: string | null;

  /** The state before the open events; null when it is that of the row. */
  @Column('jsonb', {
    nullable: true,
    transformer: {
      to: (state: SubscriptionState | null) => state,
      from: (stored: StoredState | null) => stored && stateFromJson(stored),
    },
  })
  base: SubscriptionState | null;
}
