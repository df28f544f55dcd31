import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { BlobLocation } from './blob-store.js';

/** The bytes of a version or an asset, or where they are. */
@Entity('blobs')
export class BlobEntity {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  id: string;

  /** `staged` during an upload, `dying` when it waits for the sweeper. */
  @Column('text')
  state: 'staged' | 'live' | 'dying';

  @Column('text')
  location: BlobLocation;

  /** Null until the upload is committed. */
  @Column('bigint', { nullable: true })
  size: number | null;

  /** In hex. */
  @Column('text', { nullable: true })
  sha256: string | null;

  /** Only of an inline blob: select it only where it is needed. */
  @Column('bytea', { nullable: true })
  bytes: Buffer | null;

  /** When a dying blob may be deleted. */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  @Column('timestamptz')
  createdAt: Date;

  /** The end of a sweeper's lease. */
  @Column('timestamptz', { nullable: true })
  claimedUntil: Date | null;
}
