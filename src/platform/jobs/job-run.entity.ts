import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** What a job has done, by keys of its own: `{ versions: 12 }`. */
export type Counts = Readonly<Record<string, number>>;

/** One run of a job. */
@Entity('job_runs')
export class StoredRun {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('text')
  name: string;

  @Column('timestamptz')
  startedAt: Date;

  /** Null while it is running, and if its process died. */
  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('json')
  counts: Counts;

  /** Why the run failed. */
  @Column('text', { nullable: true })
  error: string | null;
}
