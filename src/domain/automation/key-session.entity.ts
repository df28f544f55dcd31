import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key session. The master key is wrapped with the token, of which the service has only the hash. */
@Entity('key_sessions')
export class KeySession {
  @PrimaryColumn('uuid')
  id: string;

  /** SHA-256. Read only where it is named. */
  @Column('bytea', { select: false })
  tokenHash: Buffer;

  @Column('uuid')
  userId: string;

  @Column('uuid')
  workspaceId: string;

  /** The access token that has opened it; null when a JWT has. */
  @Column('uuid', { nullable: true })
  accessTokenId: string | null;

  @Column('bytea', { select: false })
  wrappedKey: Buffer;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  lastUsedAt: Date;

  /** The session of the JWT that has opened it. */
  @Column('uuid', { nullable: true })
  sessionId: string | null;
}
