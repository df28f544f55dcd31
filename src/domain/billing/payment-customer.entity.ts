import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The customer that a user is to the payment provider. */
@Entity('payment_customers')
export class PaymentCustomer {
  @PrimaryColumn('uuid')
  userId: string;

  @Column('text')
  customerId: string;

  @Column('timestamptz')
  createdAt: Date;
}
