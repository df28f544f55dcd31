import { Column, Entity, type FindOptionsWhere, IsNull, MoreThan, Or, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../access/index.js';

/** A personal access token. The service does not know the token itself. */
@Entity('access_tokens')
export class AccessToken {
  /** UUIDv7: descending is newest first. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text')
  name: string;

  /** SHA-256. Read only where it is named. */
  @Column('bytea', { select: false })
  tokenHash: Buffer;

  @Column('text', { array: true })
  scopes: Scope[];

  /** Null when the token is valid for all workspaces of its owner. */
  @Column('uuid', { nullable: true })
  workspaceId: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;
}

/** Tokens that are neither revoked nor expired. */
export const liveTokens = (now: Date): FindOptionsWhere<AccessToken> => ({
  revokedAt: IsNull(),
  expiresAt: Or(IsNull(), MoreThan(now)),
});
