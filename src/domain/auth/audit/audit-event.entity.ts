import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { AuditAction, AuditActor, AuditDetails } from './actions.js';

/** Something that was done to an account or to the service. */
@Entity('audit_events')
export class AuditEventEntity {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('timestamptz')
  at: Date;

  /** Null for what was done to the service. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('text')
  action: AuditAction;

  @Column('text')
  actor: AuditActor;

  @Column('uuid', { nullable: true })
  actorId: string | null;

  @Column('text', { nullable: true })
  ip: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  @Column('jsonb')
  details: AuditDetails;
}

/** As other modules read it. */
export type AuditEvent = Readonly<AuditEventEntity>;
