import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An invitation that was not accepted yet. The service does not know the token of its link. */
@Entity('invitations')
export class Invitation {
  /** In lower case. */
  @PrimaryColumn('text')
  email: string;

  /** SHA-256. Read only where it is named. */
  @Column('bytea', { select: false })
  tokenHash: Buffer;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}
