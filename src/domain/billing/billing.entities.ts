import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EventKind, Terms } from './replay-events.js';
import {
  type ProviderCause,
  stateFromJson,
  type StoredState,
  type SubscriptionState,
  type SubscriptionStatus,
} from './subscription-state.js';

/** A user's customer at the payment provider. */
@Entity('payment_customers')
export class PaymentCustomer {
  @PrimaryColumn('uuid')
  userId: string;

  @Column('text')
  customerId: string;

  @Column('timestamptz')
  createdAt: Date;
}

@Entity('payment_events')
export class PaymentEventEntity {
  @PrimaryColumn('text')
  eventId: string;

  @Column('uuid')
  userId: string;

  @Column('text')
  subscriptionId: string;

  @Column('text')
  kind: EventKind;

  @Column('text')
  cause: ProviderCause;

  @Column('jsonb', { nullable: true })
  terms: Terms | null;

  @Column('timestamptz')
  occurredAt: Date;

  @Column('timestamptz')
  receivedAt: Date;

  /** The order of arrival. */
  @Column({ type: 'bigint', insert: false, update: false })
  arrival: number;

  /** An open event counts in each replay; the others are closed. */
  @Column('text')
  fate: 'open' | 'applied' | 'ignored';
}

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

  /** The state before the open events; null if it equals that of the row. */
  @Column('jsonb', {
    nullable: true,
    transformer: {
      to: (state: SubscriptionState | null) => state,
      from: (stored: StoredState | null) => stored && stateFromJson(stored),
    },
  })
  base: SubscriptionState | null;
}
