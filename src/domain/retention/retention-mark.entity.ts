import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How far the nightly runs have read the log of a workspace. */
@Entity('retention_marks')
export class RetentionMark {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @Column('bigint')
  cursor: number;

  /** The rule under which the log was read. */
  @Column('text')
  rule: string;

  /** Whether a checkpoint was deleted since. */
  @Column('boolean', { default: false })
  hasUnpinned: boolean;
}
