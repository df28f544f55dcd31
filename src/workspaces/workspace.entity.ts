import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('workspaces')
export class WorkspaceEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Null once the owner's account has been deleted, and the workspace with it (constraint workspaces_owner). */
  @Column('uuid', { name: 'user_id', nullable: true })
  userId: string | null;

  @Column('text')
  name: string;

  @Column('text', { name: 'encryption_salt', nullable: true })
  encryptionSalt: string | null;

  @Column('text', { name: 'verification_hash', nullable: true })
  verificationHash: string | null;

  @Column('text', { name: 'verification_salt', nullable: true })
  verificationSalt: string | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt: Date;

  @Column('timestamptz', { name: 'updated_at' })
  updatedAt: Date;

  @Column('timestamptz', { name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}

/** A workspace that is not deleted. */
export type LiveWorkspace = WorkspaceEntity & { readonly userId: string };

export function isLive(workspace: WorkspaceEntity | null): workspace is LiveWorkspace {
  return workspace !== null && workspace.deletedAt === null && workspace.userId !== null;
}
