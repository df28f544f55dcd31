import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A version of a file. */
@Entity('versions')
export class VersionEntity {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  fileId: string;

  /** Counts the versions of its file from 1. */
  @Column('integer')
  version: number;

  @Column('uuid')
  blobId: string;

  @Column('text')
  contentHash: string;

  /** In bytes. */
  @Column('bigint')
  encryptedSize: number;

  @Column('text', { nullable: true })
  deviceId: string | null;

  /** The change that has created it. */
  @Column('bigint', { nullable: true })
  changeCursor: number | null;

  @Column('timestamptz')
  createdAt: Date;
}
