import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A kind of mail that a user has turned off. */
@Entity('muted_notices')
export class MutedNotice {
  @PrimaryColumn('uuid')
  userId: string;

  /** Of this version, or unknown when a newer version has stored it. */
  @PrimaryColumn('text')
  notice: string;

  @Column('timestamptz')
  mutedAt: Date;
}
