import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A key that signs the service's JWTs. */
@Entity('auth_jwks')
export class SigningKey {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  /** A JWK, as JSON. */
  @Column('text')
  publicKey: string;

  /** Encrypted with AUTH_SECRET. */
  @Column('text', { select: false })
  privateKey: string;

  @Column('text', { nullable: true })
  alg: string | null;

  @Column('text', { nullable: true })
  crv: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;
}
