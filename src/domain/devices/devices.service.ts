import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import {
  Column,
  Entity,
  In,
  IsNull,
  LessThanOrEqual,
  MoreThan,
  Or,
  PrimaryColumn,
  Repository,
} from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, Database, newId, pagesById, statement } from '../../platform/database/index.js';
import { BadRequest, Conflict, NotFound } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { lockOwnUser } from '../auth/index.js';

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

export const deviceStatements = {
  /**
   * Deletes the push subscriptions of device $1, only in the workspaces of user $2: another user may have a subscription with the
   * same device id.
   */
  unsubscribe: statement(
    'devices.unsubscribe',
    `DELETE FROM {push_subscriptions} s USING {workspaces} w
     WHERE w.user_id = $2 AND s.workspace_id = w.id AND s.device_id = $1`,
  ),
};

const NOTE_EVERY_MS = 60_000;

/** The number of devices in memory; beyond it, the oldest are evicted, which costs one statement each. */
const MAX_NOTED = 10_000;

const PAGE = 500;

/** Per user. */
const MAX_DEVICES = 1_000;

/** The devices that a user has registered; they belong to the user, not to a workspace. */
@Injectable()
export class Devices {
  /** When this instance last tried to record each device: a device that pulls all the time costs one statement a minute. */
  private readonly noted = new Map<string, number>();

  constructor(
    @InjectRepository(Device) private readonly devices: Repository<Device>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** In the order of registration, page by page. */
  list(userId: string): AsyncGenerator<Device[], void> {
    return pagesById(BEFORE_ALL_IDS, PAGE, (above) =>
      this.devices.find({ where: { userId, id: MoreThan(above) }, order: { id: 'ASC' }, take: PAGE }),
    );
  }

  /** The most recently registered devices, newest first, at most `limit`. */
  newest(userId: string, limit: number): Promise<Device[]> {
    return this.devices.find({ where: { userId }, order: { id: 'DESC' }, take: limit });
  }

  /** @throws Conflict when the user already has 1,000, Unauthorized when the account has just been deleted */
  async create(userId: string, name: string, platform: string): Promise<Device> {
    const createdAt = this.clock.now();
    const device: Device = { id: newId(), userId, name, platform, createdAt, lastSeenAt: null };
    await this.database.transaction(async (tx) => {
      const devices = tx.manager.getRepository(Device);
      await lockOwnUser(tx, userId);
      if ((await devices.countBy({ userId })) >= MAX_DEVICES)
        throw new Conflict(`a user can have at most ${MAX_DEVICES} devices: delete one first`);
      await devices.insert(device);
    });
    return device;
  }

  /** Deletes the device with its push subscriptions. @throws NotFound unless the id is a device of this user */
  async delete(userId: string, id: string): Promise<void> {
    const wasThere = isUUID(id) && (await this.remove(userId, id.toLowerCase()));
    if (!wasThere) throw new NotFound('device not found');
  }

  private remove(userId: string, id: string): Promise<boolean> {
    return this.database.sharedTransaction(async (tx) => {
      const { affected } = await tx.manager.getRepository(Device).delete({ id, userId });
      if (affected === 1) await tx.run(deviceStatements.unsubscribe, [id, userId]);
      return affected === 1;
    });
  }

  /**
   * Records that a device was seen, at most once a minute; never fails. Ignores ids that are not registered devices of this user.
   */
  async seen(userId: string, deviceId: string): Promise<void> {
    const now = this.clock.now();
    if (!isUUID(deviceId) || this.isNoted(`${userId} ${deviceId}`, now.getTime())) return;
    const due = new Date(now.getTime() - NOTE_EVERY_MS);
    await this.log.bestEffort('record that a device was seen', () =>
      this.devices.update(
        // Many concurrent requests see the same old time; the condition lets one of them write.
        { id: deviceId, userId, lastSeenAt: Or(IsNull(), LessThanOrEqual(due)) },
        { lastSeenAt: now },
      ),
    );
  }

  /** The names of this user's registered devices among `deviceIds`, by id. */
  async names(userId: string, deviceIds: readonly string[]): Promise<Map<string, string>> {
    const ids = deviceIds.filter((id) => isUUID(id));
    if (ids.length === 0) return new Map();
    const devices = await this.devices.findBy({ userId, id: In(ids) });
    return new Map(devices.map(({ id, name }) => [id, name]));
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

/** 1–128 visible ASCII characters. The device chooses its id, and need not be registered. */
export const DEVICE_ID = /^[\x21-\x7e]{1,128}$/;
export const DEVICE_ID_RULE = 'must be 1 to 128 visible ASCII characters';

export const isDeviceId = (value: unknown): value is string =>
  typeof value === 'string' && DEVICE_ID.test(value);

/** The value of `X-Device-Id`; undefined without one. @throws BadRequest */
export function deviceIdOf({ headers }: FastifyRequest): string | undefined {
  const deviceId = headers['x-device-id'];
  if (deviceId === undefined || isDeviceId(deviceId)) return deviceId;
  throw new BadRequest(`X-Device-Id ${DEVICE_ID_RULE}`);
}
