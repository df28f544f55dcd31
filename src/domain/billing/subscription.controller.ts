import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes, Unbound } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { SUBSCRIPTION_DOCS, subscriptionWire, type SubscriptionWire } from './billing.docs.js';
import { Purchases } from './purchases.service.js';
import { Subscriptions } from './subscriptions.service.js';

@Controller('api/v1/subscription')
@Documented(SUBSCRIPTION_DOCS)
export class SubscriptionController {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly purchases: Purchases,
  ) {}

  @Get()
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('tells whether the bearer may write; changes nothing')
  async get(@CurrentPrincipal() principal: Principal): Promise<SubscriptionWire> {
    return subscriptionWire(await this.subscriptions.of(principal.userId));
  }

  @Post('trial')
  @HttpCode(200)
  @Scopes('full')
  @Unbound()
  async startTrial(@CurrentPrincipal() principal: Principal): Promise<SubscriptionWire> {
    return subscriptionWire(await this.subscriptions.startTrial(principal.userId));
  }

  @Get('portal-url')
  @Scopes('full')
  @Unbound()
  async portalUrl(@CurrentPrincipal() principal: Principal): Promise<{ url: string }> {
    return { url: await this.purchases.portalUrl(principal.userId) };
  }

  @Post('checkout-url')
  @HttpCode(200)
  @Scopes('full')
  @Unbound()
  async checkoutUrl(@CurrentPrincipal() principal: Principal): Promise<{ url: string }> {
    return { url: await this.purchases.checkoutUrl(principal.userId) };
  }
}
