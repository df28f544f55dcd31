import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A network from which a user has signed in. */
@Entity('known_networks')
export class KnownNetwork {
  @PrimaryColumn('uuid')
  userId: string;

  @PrimaryColumn('text')
  network: string;

  @Column('timestamptz')
  lastSeenAt: Date;
}
