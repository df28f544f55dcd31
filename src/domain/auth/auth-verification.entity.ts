import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/**
 * Something that has begun and waits: a one-time token, a sign-in that waits for its code (`2fa-…`) or one that continues at the
 * provider (`single-sign-on:…`).
 */
@Entity('auth_verifications')
export class AuthVerification {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('text')
  identifier: string;

  @Column('text')
  value: string;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
