import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { CurrentPrincipal, type Principal, Scopes } from '../auth/index.js';
import { subscriptionWire, type SubscriptionWire } from './subscription.wire.js';
import { Subscriptions } from './subscriptions.service.js';

@Controller('api/v1/subscription')
export class SubscriptionController {
  constructor(private readonly subscriptions: Subscriptions) {}

  @Get()
  @Scopes('documents:read', 'documents:write')
  async get(@CurrentPrincipal() principal: Principal): Promise<SubscriptionWire> {
    return subscriptionWire(await this.subscriptions.of(principal.userId));
  }

  @Post('trial')
  @HttpCode(200)
  @Scopes('full')
  async startTrial(@CurrentPrincipal() principal: Principal): Promise<SubscriptionWire> {
    return subscriptionWire(await this.subscriptions.startTrial(principal.userId));
  }
}
