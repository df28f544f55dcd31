import { Column, Entity, PrimaryColumn } from 'typeorm';

export const MODES = ['off', 'read-only', 'down'] as const;

/**
 * `read-only` refuses writes of content, settings or tokens; `down` refuses everything but health requests and preflights: a
 * page must be able to read the refusal.
 */
export type Mode = (typeof MODES)[number];

/** One row, and none before the switch is first set. */
@Entity('kill_switch')
export class StoredMode {
  @PrimaryColumn('boolean')
  id: true;

  @Column('text')
  mode: Mode;

  @Column('timestamptz')
  setAt: Date;
}
