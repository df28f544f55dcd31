import { Column, Entity, PrimaryColumn } from 'typeorm';

export type LinkPurpose = 'reset-password' | 'verify-email' | 'change-email';

/** The newest link of a user for a purpose. The service does not know the token itself. */
@Entity('mail_links')
export class MailLink {
  @PrimaryColumn('uuid')
  userId: string;

  @PrimaryColumn('text')
  purpose: LinkPurpose;

  /** SHA-256. */
  @Column('bytea')
  tokenHash: Buffer;

  /** The address that it was sent to. */
  @Column('text')
  email: string;

  @Column('timestamptz')
  requestedAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}
