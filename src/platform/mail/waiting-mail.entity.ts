import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A mail that has not been sent. It has no text: that is made from the template when the mail is sent. */
@Entity('mail_queue')
export class WaitingMail {
  /** The same for each attempt. */
  @PrimaryGeneratedColumn('uuid')
  id: string;

  /** With the account, its mails are deleted as well. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('text')
  recipient: string;

  @Column('text')
  template: string;

  /** Never a secret. */
  @Column('jsonb')
  parameters: Readonly<Record<string, string>>;

  @Column('timestamptz')
  queuedAt: Date;

  /** The end of the lease while an instance sends it. */
  @Column('timestamptz')
  dueAt: Date;

  /** Including one in progress. */
  @Column('integer')
  attempts: number;
}
