import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A file: its current version, and its encrypted path. */
@Entity('files')
export class FileEntity {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  encryptedPath: string;

  /** SHA-256 of the encrypted path, computed by the database. */
  @Column({ type: 'bytea', insert: false, update: false })
  pathHash: Buffer;

  /** That of the current version. */
  @Column('uuid')
  blobId: string;

  @Column('text')
  contentHash: string;

  /** In bytes. */
  @Column('bigint')
  encryptedSize: number;

  @Column('integer')
  version: number;

  @Column('boolean', { default: false })
  isDeleted: boolean;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
