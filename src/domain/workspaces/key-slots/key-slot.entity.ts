import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { KeySlotKind } from '../../automation/key-slot-crypto.js';

/** The master key of a workspace, encrypted by a client under something that a person has. */
@Entity('key_slots')
export class StoredKeySlot {
  @PrimaryColumn('uuid')
  workspaceId: string;

  /** Chosen by the client. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  kind: KeySlotKind;

  @Column('text', { nullable: true })
  label: string | null;

  /** JSON text. */
  @Column('text')
  kdf: string;

  @Column('bytea')
  wrappedKey: Buffer;

  @Column('timestamptz')
  createdAt: Date;

  /** Whole milliseconds; rises with every replacement. */
  @Column('timestamptz')
  updatedAt: Date;
}
