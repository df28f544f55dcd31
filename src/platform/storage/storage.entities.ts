import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { BlobLocation, StoreLocation } from './blob-store.js';

/** The bytes of a version or an asset, or their location. */
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

  /** Set only for an inline blob; select it only where it is needed. */
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

/** A store of this database: the store carries the same id. */
@Entity('blob_stores')
export class RegisteredStore {
  @PrimaryColumn('text')
  location: StoreLocation;

  @Column('uuid')
  id: string;
}
