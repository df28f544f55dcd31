import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A session that has ended and whose JWTs may not have expired yet. */
@Entity('ended_sessions')
export class EndedSession {
  @PrimaryColumn('uuid')
  sessionId: string;

  @Column({ type: 'timestamptz', insert: false })
  endedAt: Date;
}
