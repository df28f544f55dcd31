import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { StoreLocation } from './blob-store.js';

/** A store of this database: the store carries the same id. */
@Entity('blob_stores')
export class RegisteredStore {
  @PrimaryColumn('text')
  location: StoreLocation;

  @Column('uuid')
  id: string;
}
