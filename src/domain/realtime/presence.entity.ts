import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A running instance. Its lease is by the clock of the database. */
@Entity('instances')
export class Instance {
  @PrimaryColumn('uuid')
  id: string;

  @Column('timestamptz')
  aliveUntil: Date;
}

/** A device that has a live socket on an instance. */
@Entity('presence')
export class PresentDevice {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('text')
  deviceId: string;

  @PrimaryColumn('uuid')
  instanceId: string;
}
