import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An entry in the change log of a workspace. */
@Entity('changes')
export class ChangeEntity {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('bigint')
  cursor: number;

  @Column('uuid')
  fileId: string;

  /** The encrypted path of the file. */
  @Column('text')
  path: string;

  @Column('text')
  action: 'upsert' | 'delete';

  @Column('text')
  contentHash: string;

  /** In bytes. */
  @Column('bigint')
  encryptedSize: number;

  @Column('integer')
  version: number;

  @Column('timestamptz')
  changedAt: Date;

  @Column('text', { nullable: true })
  changedByDevice: string | null;
}

/** A file with its current version and its encrypted path. */
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

  /** Blob of the current version. */
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

  /** Cursor of the change that created the version; null for rows older than the column. */
  @Column('bigint', { nullable: true })
  changeCursor: number | null;

  @Column('timestamptz')
  createdAt: Date;
}
