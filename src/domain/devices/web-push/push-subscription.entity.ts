import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The endpoint and keys for pushes to a device of a workspace, and the push that waits. */
@Entity('push_subscriptions')
export class StoredSubscription {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('text')
  deviceId: string;

  @Column('text')
  endpoint: string;

  @Column('text')
  p256dh: string;

  @Column('text')
  auth: string;

  @Column('timestamptz')
  updatedAt: Date;

  @Column('boolean')
  pendingChanges: boolean;

  @Column('boolean')
  pendingAssets: boolean;

  /** Null while no push waits. */
  @Column('timestamptz', { nullable: true })
  dueAt: Date | null;

  /** No push is sent earlier. */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  /** Consecutive failures of the endpoint. */
  @Column('integer')
  failures: number;
}
