import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EventKind, Terms } from './replay-events.js';
import type { ProviderCause } from './transitions.js';

/** An event of the payment provider. */
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
