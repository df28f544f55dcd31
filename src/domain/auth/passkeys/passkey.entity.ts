import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A passkey of a user. The identity library writes it. */
@Entity('auth_passkeys')
export class Passkey {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text', { nullable: true })
  name: string | null;

  @Column('text')
  credentialId: string;

  @Column('text')
  publicKey: string;

  @Column('bigint')
  counter: number;

  @Column('text')
  deviceType: string;

  /** Whether it is stored by a service that copies it to other devices. */
  @Column('boolean')
  backedUp: boolean;

  @Column('text', { nullable: true })
  transports: string | null;

  @Column('text', { nullable: true })
  aaguid: string | null;

  @Column('timestamptz')
  createdAt: Date;
}
