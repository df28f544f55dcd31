import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The hits of a key in one minute. */
@Entity('rate_limits')
export class RateLimit {
  @PrimaryColumn('text')
  key: string;

  @Column('timestamptz')
  windowStart: Date;

  @Column('integer')
  hits: number;
}
