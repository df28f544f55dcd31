import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { lockOwnUser } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import {
  BEFORE_ALL_IDS,
  Database,
  newId,
  pagesById,
  statement,
  type Tx,
} from '../platform/database/index.js';
import { Conflict, NotFound } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import { OwedUnsubscriptions } from './owed-unsubscriptions.js';

const COLUMNS = 'id, name, platform, last_seen_at AS "lastSeenAt", created_at AS "createdAt"';

export const deviceStatements = {
  /** Ids are UUIDv7, so they sort by creation. */
  page: statement(
    'devices.page',
    `SELECT ${COLUMNS} FROM devices WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
  ),

  newest: statement(
    'devices.newest',
    `SELECT ${COLUMNS} FROM devices WHERE user_id = $1 ORDER BY id DESC LIMIT $2`,
  ),

  /** Run this under the lock of the user. Inserts nothing if the user already has $6 devices. */
  create: statement(
    'devices.create',
    `INSERT INTO devices (id, user_id, name, platform, created_at)
     SELECT $1, $2, $3, $4, $5
     WHERE NOT EXISTS (SELECT 1 FROM devices WHERE user_id = $2 OFFSET $6::integer - 1)
     RETURNING id`,
  ),

  /**
   * Deletes the device with its push subscriptions. Another user may have a subscription with the same device id, so only those
   * in this user's workspaces are deleted.
   */
  delete: statement(
    'devices.delete',
    `WITH gone AS (
       DELETE FROM devices WHERE id = $1 AND user_id = $2 RETURNING id
     ), unsubscribed AS (
       DELETE FROM push_subscriptions s USING gone, workspaces w
       WHERE w.user_id = $2 AND s.workspace_id = w.id AND s.device_id = gone.id::text
     )
     SELECT id FROM gone`,
  ),

  /** Where workspaces are on nodes, which hold the subscriptions. */
  deleteRow: statement(
    'devices.delete_row',
    'DELETE FROM devices WHERE id = $1 AND user_id = $2 RETURNING id',
  ),

  /** Many concurrent requests see the same old time; the condition lets one of them write. */
  seen: statement(
    'devices.seen',
    `UPDATE devices SET last_seen_at = $3
     WHERE id = $1 AND user_id = $2 AND (last_seen_at IS NULL OR last_seen_at <= $4)`,
  ),

  names: statement(
    'devices.names',
    'SELECT id, name FROM devices WHERE user_id = $1 AND id = ANY ($2::uuid[])',
  ),
};

const NOTE_EVERY_MS = 60_000;

/** The number of devices in memory; beyond it, the oldest are evicted, which costs one statement each. */
const MAX_NOTED = 10_000;

const PAGE = 500;

/** Per user. */
const MAX_DEVICES = 1_000;

export interface Device {
  readonly id: string;
  readonly name: string;
  readonly platform: string;
  /** Null until the device has connected, pulled or pushed. */
  readonly lastSeenAt: Date | null;
  readonly createdAt: Date;
}

/** The devices that a user has registered; they belong to the user, not to a workspace. */
@Injectable()
export class Devices {
  /** When this instance last tried to record each device: a device that pulls all the time costs one statement a minute. */
  private readonly noted = new Map<string, number>();

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly owed: OwedUnsubscriptions,
  ) {}

  /** In the order of registration, page by page. */
  list(userId: string): AsyncGenerator<Device[], void> {
    return pagesById(BEFORE_ALL_IDS, PAGE, (above) =>
      this.database.run<Device>(deviceStatements.page, [userId, above, PAGE]),
    );
  }

  /** The most recently registered devices, newest first, at most `limit`. */
  newest(userId: string, limit: number): Promise<Device[]> {
    return this.database.run<Device>(deviceStatements.newest, [userId, limit]);
  }

  /** @throws Conflict when the user already has 1,000, Unauthorized when the account has just been deleted */
  async create(userId: string, name: string, platform: string): Promise<Device> {
    const device = { id: newId(), name, platform, lastSeenAt: null, createdAt: this.clock.now() };
    const values = [device.id, userId, name, platform, device.createdAt, MAX_DEVICES];
    const created = await this.database.transaction(async (tx) => {
      await lockOwnUser(tx, userId);
      return tx.run(deviceStatements.create, values);
    });
    if (created.length === 0)
      throw new Conflict(`a user can have at most ${MAX_DEVICES} devices: delete one first`);
    return device;
  }

  /** Deletes the device with its push subscriptions. @throws NotFound unless the id is a device of this user */
  async delete(userId: string, id: string): Promise<void> {
    const gone = isUUID(id) ? await this.remove(userId, id) : [];
    if (gone.length === 0) throw new NotFound('device not found');
  }

  private async remove(userId: string, id: string): Promise<unknown[]> {
    if (!this.database.isDistributed) return this.database.run(deviceStatements.delete, [id, userId]);
    const { gone, workspaces } = await this.database.transaction((tx) =>
      this.removeBesideNodes(tx, userId, id),
    );
    await this.owed.settleSoon(workspaces);
    return gone;
  }

  /** A device that is deleted is shut out at once, so no node is asked: what they hold of it is owed to them. */
  private async removeBesideNodes(
    tx: Tx,
    userId: string,
    id: string,
  ): Promise<{ gone: unknown[]; workspaces: string[] }> {
    const gone = await tx.run<{ id: string }>(deviceStatements.deleteRow, [id, userId]);
    const [device] = gone; // its id as the database spells it: a client may write it in capitals
    return { gone, workspaces: device ? await this.owed.owe(tx, userId, device.id) : [] };
  }

  /**
   * Records that a device was seen, at most once a minute; never fails. Ignores ids that are not registered devices of this user.
   */
  async seen(userId: string, deviceId: string): Promise<void> {
    const now = this.clock.now();
    if (!isUUID(deviceId) || this.isNoted(`${userId} ${deviceId}`, now.getTime())) return;
    const due = new Date(now.getTime() - NOTE_EVERY_MS);
    await this.log.bestEffort('record that a device was seen', () =>
      this.database.run(deviceStatements.seen, [deviceId, userId, now, due]),
    );
  }

  /** The names of this user's registered devices among `deviceIds`, by id. */
  async names(userId: string, deviceIds: readonly string[]): Promise<Map<string, string>> {
    const ids = deviceIds.filter((id) => isUUID(id));
    if (ids.length === 0) return new Map();
    const rows = await this.database.run<{ id: string; name: string }>(deviceStatements.names, [userId, ids]);
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  private isNoted(key: string, now: number): boolean {
    const at = this.noted.get(key);
    if (at !== undefined && Math.abs(now - at) < NOTE_EVERY_MS) return true;
    this.noted.delete(key); // so that it moves to the end of the insertion order
    this.noted.set(key, now);
    const [oldest] = this.noted.keys();
    if (this.noted.size > MAX_NOTED && oldest !== undefined) this.noted.delete(oldest);
    return false;
  }
}
