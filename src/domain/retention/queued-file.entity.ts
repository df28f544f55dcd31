import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A file with versions to thin at some time. */
@Entity('retention_queue')
export class QueuedFile {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  fileId: string;

  /** May be `-infinity`. */
  @Column('timestamptz')
  dueAt: Date;

  @Column('boolean', { default: false })
  isPinned: boolean;

  /** Rises whenever the file becomes due. */
  @Column('bigint', { default: 0 })
  revision: number;
}
