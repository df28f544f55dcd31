import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The storage that the assets of an account use. An account without a row uses none. */
@Entity('storage_accounts')
export class StorageAccount {
  @PrimaryColumn('uuid')
  userId: string;

  @Column('bigint', { default: 0 })
  usedBytes: number;

  /** Beyond the allowance of the plan. */
  @Column('bigint', { default: 0 })
  addonBytes: number;

  /** Whether uploads are refused. */
  @Column('boolean', { default: false })
  locked: boolean;
}
