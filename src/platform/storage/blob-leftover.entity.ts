import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { StoreLocation } from './blob-store.js';

/** Bytes in a store that no row of `blobs` refers to at that location. */
@Entity('blob_leftovers')
export class BlobLeftover {
  @PrimaryColumn('text')
  location: StoreLocation;

  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  state: 'copying' | 'dying';

  @Column('timestamptz')
  notBefore: Date;

  /** The end of a sweeper's lease. */
  @Column('timestamptz', { nullable: true })
  claimedUntil: Date | null;
}
