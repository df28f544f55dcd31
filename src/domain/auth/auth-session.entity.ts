import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A session of a user, in a browser or an app. A trigger notes the id of one that ends, or gets another id, in `ended_sessions`. */
@Entity('auth_sessions')
export class AuthSession {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** A secret: it must not leave the service, and is read only where it is named. */
  @Column('text', { select: false })
  token: string;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('text', { nullable: true })
  ipAddress: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  @Column('timestamptz')
  createdAt: Date;

  /** When its expiry was last extended. */
  @Column('timestamptz')
  updatedAt: Date;

  /** When a password or another factor was last given in the session. */
  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  /** When a code or a passkey was; null for a session that knows only a password. */
  @Column('timestamptz', { nullable: true })
  factorAt: Date | null;
}
