import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: when the deployment is known to have run, and since when its clock is doubted. */
@Entity('trusted_time')
export class StoredTime {
  @PrimaryColumn('boolean')
  id: true;

  @Column('timestamptz')
  trustedUntil: Date;

  @Column('timestamptz', { nullable: true })
  doubtedFrom: Date | null;

  @Column('timestamptz', { nullable: true })
  doubtedUntil: Date | null;
}
