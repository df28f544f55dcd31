import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The recent wrong passwords, codes or mails of one kind for one account. */
@Entity('wrong_passwords')
export class WrongPassword {
  /** SHA-256 of what is counted. */
  @PrimaryColumn('bytea')
  key: Buffer;

  /** The newest first. */
  @Column('timestamptz', { array: true })
  triedAt: Date[];

  @Column('timestamptz')
  lastAt: Date;
}
