import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { Finding } from '../../platform/doctor/index.js';

/** A check of the stored data. */
@Entity('doctor_runs')
export class DoctorRun {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('timestamptz')
  startedAt: Date;

  /** Null while it runs. */
  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('integer', { nullable: true })
  found: number | null;

  /** The first of them. */
  @Column('jsonb')
  findings: Finding[];

  /** Why it did not end. */
  @Column('text', { nullable: true })
  error: string | null;
}
