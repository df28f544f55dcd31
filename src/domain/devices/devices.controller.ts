import { Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes, Unbound } from '../../access/index.js';
import {
  arrayOf,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { IsName, JsonBody, sendJsonList } from '../../platform/http/index.js';
import { type Device, Devices } from './devices.service.js';

/** The contract requires snake_case for the list, camelCase for creation. */
const deviceWire = (device: Device) => ({
  id: device.id,
  name: device.name,
  platform: device.platform,
  last_seen_at: device.lastSeenAt?.toISOString() ?? null,
  created_at: device.createdAt.toISOString(),
});

type CreatedDeviceWire = Pick<Device, 'id' | 'userId' | 'name' | 'platform'>;

class CreateDeviceRequest {
  @IsName(100)
  name: string;

  @IsName(50)
  platform: string;
}

const DEVICE = named(
  'Device',
  objectOf<ReturnType<typeof deviceWire>>({
    id: UUID,
    name: STRING,
    platform: STRING,
    last_seen_at: nullable(INSTANT),
    created_at: INSTANT,
  }),
);

const CREATED = named(
  'CreatedDevice',
  objectOf<CreatedDeviceWire>({ id: UUID, userId: UUID, name: STRING, platform: STRING }),
);

const VAPID = {
  anyOf: [objectOf({ publicKey: STRING, enabled: { const: true } }), objectOf({ enabled: { const: false } })],
};

const DEVICES_DOCS = {
  tag: 'Devices',
  operations: {
    list: {
      summary: 'List the registered devices',
      answers: {
        200: json('all registered devices', objectOf({ devices: arrayOf(DEVICE) })),
      },
    },
    create: {
      id: 'devices.register',
      summary: 'Register a device',
      description: 'Its id can be used as `X-Device-Id`. A device that is not registered can sync too.',
      answers: { 201: json('the device', CREATED), 409: 'the user already has 1,000 devices' },
    },
    vapidPublicKey: {
      id: 'devices.getVapidPublicKey',
      summary: 'Get the public key for Web Push subscriptions',
      answers: { 200: json('the VAPID public key, or `enabled: false` if Web Push is off', VAPID) },
    },
    delete: {
      summary: 'Delete a device and its push subscriptions',
      path: { id: { description: 'The id of the device.' } },
      answers: { 200: json('the device is deleted', OK), 404: 'device not found' },
    },
  },
} as const;

@Controller('api/v1/devices')
@Documented(DEVICES_DOCS)
export class DevicesController {
  constructor(
    private readonly devices: Devices,
    private readonly configuration: Configuration,
  ) {}

  @Get()
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('lets a client find its own device; lists names only, and changes nothing')
  async list(@CurrentPrincipal() { userId }: Principal, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '{"devices":[', after: ']}', wire: deviceWire };
    await sendJsonList(reply, this.devices.list(userId), form);
  }

  @Post()
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('a client registers itself before it syncs its workspace')
  async create(
    @CurrentPrincipal() { userId }: Principal,
    @JsonBody() { name, platform }: CreateDeviceRequest,
  ): Promise<CreatedDeviceWire> {
    const { id } = await this.devices.create(userId, name, platform);
    return { id, userId, name, platform };
  }

  /** The key that a browser needs to subscribe. */
  @Get('vapid-public-key')
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('the same for everybody')
  vapidPublicKey(): { publicKey: string; enabled: true } | { enabled: false } {
    const { vapidPublicKey } = this.configuration;
    return vapidPublicKey === undefined ? { enabled: false } : { publicKey: vapidPublicKey, enabled: true };
  }

  @Delete(':id')
  @Scopes('full')
  @Unbound()
  async delete(@CurrentPrincipal() { userId }: Principal, @Param('id') id: string): Promise<{ ok: true }> {
    await this.devices.delete(userId, id);
    return { ok: true };
  }
}
