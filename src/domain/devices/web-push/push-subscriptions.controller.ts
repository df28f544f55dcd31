import { Controller, Delete, Param, Post } from '@nestjs/common';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes } from '../../../access/index.js';
import { Documented, json, matching, OK, URL_TEXT, UUID } from '../../../platform/api-docs/index.js';
import { DEVICE_ID } from '../index.js';
import { JsonBody } from '../../../platform/http/index.js';
import { PushSubscriptions, SubscribeRequest } from './push-subscriptions.service.js';

const BASE64URL = (characters: string) => ({ type: 'string', pattern: `^[A-Za-z0-9_-]${characters}={0,2}$` });

const PUSH_SUBSCRIPTIONS_DOCS = {
  tag: 'Devices',
  operations: {
    subscribe: {
      summary: 'Subscribe a device of a workspace to Web Push',
      description: 'A second subscription of the same device replaces the first.',
      properties: {
        workspaceId: UUID,
        deviceId: matching(DEVICE_ID),
        endpoint: { ...URL_TEXT, maxLength: 2048, description: 'an https URL outside private networks' },
        keys: {
          type: 'object',
          properties: {
            p256dh: { ...BASE64URL('{87}'), description: '65 bytes in base64url' },
            auth: { ...BASE64URL('{22}'), description: '16 bytes in base64url' },
          },
          required: ['p256dh', 'auth'],
        },
      },
      answers: { 201: json('the device is subscribed', OK), 404: 'workspace not found' },
    },
    unsubscribe: {
      summary: 'Delete the push subscription of a device',
      description: 'Succeeds even if the device has no subscription.',
      path: {
        workspaceId: { description: 'The workspace.', schema: UUID },
        deviceId: { description: 'The device id that the subscription was created with.' },
      },
      answers: { 200: json('the device has no subscription', OK), 404: 'workspace not found' },
    },
  },
} as const;

@Controller('api/v1/devices/push-subscription')
@Documented(PUSH_SUBSCRIPTIONS_DOCS)
@Scopes('documents:read', 'documents:write')
@BoundTokensToo('the service checks the token against the workspace in the body or path')
export class PushSubscriptionsController {
  constructor(private readonly subscriptions: PushSubscriptions) {}

  @Post()
  async subscribe(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() body: SubscribeRequest,
  ): Promise<{ ok: true }> {
    await this.subscriptions.subscribe(principal, body);
    return { ok: true };
  }

  @Delete(':workspaceId/:deviceId')
  async unsubscribe(
    @CurrentPrincipal() principal: Principal,
    @Param('workspaceId') workspaceId: string,
    @Param('deviceId') deviceId: string,
  ): Promise<{ ok: true }> {
    await this.subscriptions.unsubscribe(principal, workspaceId, deviceId);
    return { ok: true };
  }
}
