import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../auth/index.js';

@Entity('access_tokens')
export class AccessTokenEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('text')
  name: string;

  /** SHA-256 of the token. */
  @Column('bytea', { name: 'token_hash', select: false })
  tokenHash: Buffer;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('uuid', { name: 'workspace_id', nullable: true })
  workspaceId: string | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;
}
