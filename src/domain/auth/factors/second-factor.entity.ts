import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** The TOTP secret and the backup codes of a user. */
@Entity('auth_two_factors')
export class SecondFactor {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** Encrypted. */
  @Column('text')
  secret: string;

  /** The hashes of those that are left. */
  @Column('text', { array: true })
  backupCodes: string[];

  /** Whether it is on: its first code was right. */
  @Column('boolean')
  verified: boolean;

  /** The time step of the code that was used last. */
  @Column('bigint', { nullable: true })
  lastStep: number | null;

  /** Not used: wrong codes are counted in `wrong_passwords`. */
  @Column('integer', { default: 0 })
  failedVerificationCount: number;

  /** Not used. */
  @Column('timestamptz', { nullable: true })
  lockedUntil: Date | null;

  /** When its set-up began. */
  @Column('timestamptz')
  createdAt: Date;
}
