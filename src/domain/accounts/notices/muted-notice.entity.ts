import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A kind of mail that a user has turned off. */
@Entity('muted_notices')
export class MutedNotice {
  @PrimaryColumn('uuid')
  userId: string;

  /** A kind of notice, which this version does not know when a newer one has stored it. */
  @PrimaryColumn('text')
  notice: string;

  @Column('timestamptz')
  mutedAt: Date;
}
