import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes, Unbound } from '../access/index.js';
import { Configuration } from '../config/index.js';
import { JsonBody, sendJsonList } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { DEVICES_DOCS } from './devices.docs.js';
import { CreateDeviceRequest } from './devices.dto.js';
import { Devices } from './devices.service.js';
import { createdDeviceWire, type CreatedDeviceWire, deviceWire } from './devices.wire.js';

@Controller('api/v1/devices')
@Documented(DEVICES_DOCS)
export class DevicesController {
  constructor(
    private readonly devices: Devices,
    private readonly configuration: Configuration,
  ) {}

  @Get()
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('a client finds itself among them; names alone, and nothing can be done with them')
  async list(
    @CurrentPrincipal() { userId }: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"devices":[', after: ']}', wire: deviceWire };
    await sendJsonList(request, reply, this.devices.list(userId), form);
  }

  @Post()
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('a client registers itself before it syncs its workspace')
  async create(
    @CurrentPrincipal() { userId }: Principal,
    @JsonBody() { name, platform }: CreateDeviceRequest,
  ): Promise<CreatedDeviceWire> {
    return createdDeviceWire(userId, await this.devices.create(userId, name, platform));
  }

  /** What a browser needs to subscribe. */
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
