import { Column, Entity, PrimaryColumn } from 'typeorm';

export type CheckpointKind = 'manual' | 'auto';

/** A named mark in the change log. */
@Entity('checkpoints')
export class StoredCheckpoint {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  encryptedLabel: string;

  @Column('text')
  kind: CheckpointKind;

  /** Head of the change log when the checkpoint was created. */
  @Column('bigint')
  cursor: number;

  @Column('timestamptz')
  createdAt: Date;
}
