import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The token that an `Idempotency-Key` was used for. */
@Entity('asset_idempotency_keys')
export class AssetIdempotencyKey {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('text')
  key: string;

  @Column('text')
  token: string;

  @Column('timestamptz')
  createdAt: Date;
}
