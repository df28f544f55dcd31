import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A cancellation that the payment provider has not yet received, for a deleted account. At least one id is set. */
@Entity('owed_cancellations')
export class OwedCancellation {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('text', { nullable: true })
  customerId: string | null;

  @Column('text', { nullable: true })
  subscriptionId: string | null;

  @Column('timestamptz')
  since: Date;
}
