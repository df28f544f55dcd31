import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('workspaces')
export class WorkspaceEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Null once the owner's account has been deleted, and the workspace with it (constraint workspaces_owner). */
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('text')
  name: string;

  /** Hex. Null until encryption is set up, as are the hash and the other salt. */
  @Column('text', { nullable: true })
  encryptionSalt: string | null;

  @Column('text', { nullable: true })
  verificationHash: string | null;

  @Column('text', { nullable: true })
  verificationSalt: string | null;

  /** Cursor of the last change in the log. */
  @Column('bigint')
  headCursor: number;

  @Column('bigint')
  liveFiles: number;

  /** Null until the log has been compacted. */
  @Column('bigint', { nullable: true })
  compactionFloor: number | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;

  @Column('timestamptz', { nullable: true })
  deletedAt: Date | null;

  @Column('bigint')
  assetsRevision: number;

  @Column('bigint')
  documentBytes: number;
}

/** A workspace that is not deleted. */
export type LiveWorkspace = WorkspaceEntity & { readonly userId: string };

export function isLive(workspace: WorkspaceEntity | null): workspace is LiveWorkspace {
  return workspace !== null && workspace.deletedAt === null && workspace.userId !== null;
}
