import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An encrypted file beside the log of its workspace. */
@Entity('assets')
export class Asset {
  @PrimaryColumn('uuid')
  workspaceId: string;

  /** The encrypted name, which clients compute. */
  @PrimaryColumn('text')
  token: string;

  @Column('uuid')
  blobId: string;

  /** The size of the envelope, in bytes. */
  @Column('bigint')
  size: number;

  /** The workspace's count of asset commits at the time of the upload. */
  @Column('bigint')
  revision: number;

  @Column('timestamptz')
  uploadedAt: Date;
}
