import { Entity, PrimaryColumn } from 'typeorm';

/** A notice that was queued: each is queued once. */
@Entity('mail_notices')
export class MailNotice {
  @PrimaryColumn('uuid')
  userId: string;

  @PrimaryColumn('text')
  notice: string;

  /** The end of the trial, or the time of the failed payment. */
  @PrimaryColumn('timestamptz')
  about: Date;
}
