import { Controller, Delete, Param, Post } from '@nestjs/common';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes } from '../access/index.js';
import { JsonBody } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { PUSH_SUBSCRIPTIONS_DOCS } from './push-subscriptions.docs.js';
import { SubscribeRequest } from './push-subscriptions.dto.js';
import { PushSubscriptions } from './push-subscriptions.service.js';

@Controller('api/v1/devices/push-subscription')
@Documented(PUSH_SUBSCRIPTIONS_DOCS)
@Scopes('documents:read', 'documents:write')
@BoundTokensToo('the service holds the token to the workspace that body or path names')
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
