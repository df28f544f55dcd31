import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The id of this database: at most one row. */
@Entity('database_identity')
export class DatabaseIdentityEntity {
  @PrimaryColumn('boolean')
  isOnly: true;

  @Column('uuid')
  id: string;
}
