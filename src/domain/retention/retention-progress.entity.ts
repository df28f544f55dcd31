import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The time as of which the last complete nightly run has thinned: at most one row. */
@Entity('retention_progress')
export class RetentionProgress {
  @PrimaryColumn('boolean')
  id: true;

  @Column('timestamptz')
  asOf: Date;
}
