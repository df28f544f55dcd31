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

  /** That of the file. */
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
