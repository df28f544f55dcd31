import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A device that a user has registered. */
@Entity('devices')
export class Device {
  /** UUIDv7, so ids sort by creation. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text')
  name: string;

  @Column('text')
  platform: string;

  @Column('timestamptz')
  createdAt: Date;

  /** Null until the device has connected, pulled or pushed. */
  @Column('timestamptz', { nullable: true })
  lastSeenAt: Date | null;
}
